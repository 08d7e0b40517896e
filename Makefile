# The two commands to know: `make demo` and `make test`. Both need only Python, make and, for the compiled core, gcc.

PYTHON ?= python3
VENV := .venv
BENCH_VENV := .venv-bench
BIN := $(VENV)/bin
CONFORMANCE ?= ../shared/conformance

SOURCES := $(shell find src -name '*.py' -o -name '*.pxd')
BUILD_FILES := pyproject.toml setup.py
BUILD_NEEDS := 'setuptools>=77' wheel 'cython>=3.3.1' 'numpy>=2.0' ml_dtypes
PIP := -m pip --disable-pip-version-check --quiet --no-input
# With a compiler at hand a core that does not compile is an error; without one, plain Python is what there is.
COMPILED := $(if $(shell command -v $(or $(CC),cc) 2>/dev/null || command -v gcc 2>/dev/null),1,0)
INSTALL = RETROGRAD_COMPILED=$(COMPILED) $(1)/bin/python $(PIP) install --no-build-isolation

.PHONY: demo test lint compile bench clean
.NOTPARALLEL:

demo: $(VENV)/.demo
	$(BIN)/retrograd run examples/char_transformer.py

test: $(VENV)/.dev lint
	@echo '== compiled'
	RETROGRAD_PLAIN=0 $(BIN)/python -m pytest -n auto -m 'not plain'
	@echo '== plain Python'
	RETROGRAD_PLAIN=1 $(BIN)/python -m pytest -n auto -m 'not once'
	@echo '== documentation'
	RETROGRAD_PLAIN=1 $(BIN)/python -m pytest --import-mode=prepend --doctest-modules \
		--ignore=src/retrograd/__main__.py src/retrograd
	@if [ -e $(CONFORMANCE)/run.py ]; then echo '== conformance'; \
		$(BIN)/python tools/conformance.py --harness $(CONFORMANCE); fi

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/mypy

# Compiles in place, beside the sources, for work on the compiled core. `make clean` takes the extensions away again.
compile: $(VENV)/.build
	RETROGRAD_COMPILED=1 $(BIN)/python setup.py --quiet build_ext --inplace

bench: $(BENCH_VENV)/.bench
	$(BENCH_VENV)/bin/python bench/run.py

clean:
	rm -rf $(VENV) $(BENCH_VENV) build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis char_transformer.png
	find src -name '*.so' -delete
	find . -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/.build: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) install $(BUILD_NEEDS)
	@touch $@

$(VENV)/.demo: $(VENV)/.build $(BUILD_FILES) $(SOURCES)
	$(call INSTALL,$(VENV)) '.[demo]'
	@touch $@

$(VENV)/.dev: $(VENV)/.build $(BUILD_FILES) $(SOURCES)
	$(call INSTALL,$(VENV)) '.[dev]'
	@touch $@ $(VENV)/.demo

$(BENCH_VENV)/.torch: pyproject.toml
	$(PYTHON) -m venv $(BENCH_VENV)
	$(BENCH_VENV)/bin/python $(PIP) install $(BUILD_NEEDS) scipy torch==2.13.0
	@touch $@

$(BENCH_VENV)/.bench: $(BENCH_VENV)/.torch $(BUILD_FILES) $(SOURCES)
	$(call INSTALL,$(BENCH_VENV)) .
	@touch $@
