"""Builds the compiled core: Cython over the same .py files that plain Python runs, and the generated C kernels.

A module is compiled when a .pxd lies beside its .py. The .py stays the only source and is installed as well, so that
RETROGRAD_PLAIN=1 can still choose it at run time. All compiled modules are linked into one library, `retrograd._compiled`, in
which `_finder.py` finds them. Where nothing can be compiled, the install succeeds in plain Python and says so.

Environment variables at build time:
    RETROGRAD_PLAIN=1       compile nothing
    RETROGRAD_COMPILED=1    fail instead of falling back to plain Python
    RETROGRAD_MARCH=name    compile the loops once, for this machine only, not for several to choose from at import
"""
from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

SRC = Path("src")
C_DIR = Path("build") / "cython"
COMPILED = "retrograd._compiled"              # the library of all modules that Cython compiles
COMPILED_C = C_DIR / "retrograd" / "_compiled.c"
NATIVE = "retrograd.core._native"
SHARED = "retrograd.core._shared"             # Cython's function types and error helpers, else repeated in every module
SHARED_C = C_DIR / "retrograd" / "core" / "_shared.c"
LOOPS = "retrograd.core._loops"               # the generated loops, see codegen/README.md
LOOPS_SOURCES = SRC / "retrograd" / "codegen" / "native"
LOOPS_DIR = Path("build") / "loops"

# Types come from the .pxd files only: annotations in the sources are for mypy and must not change what runs.
# Indices and None are checked, so that no call can end the process: what plain Python raises is raised here too. No pickling is
# generated, since the __setstate__ that comes with it trusts its argument.
DIRECTIVES = {
    "language_level": 3,
    "annotation_typing": False,
    "binding": True,
    "auto_pickle": False,
    "boundscheck": True,
    "wraparound": True,
    "nonecheck": True,
    "initializedcheck": False,
    "optimize.use_switch": True,
    "optimize.unpack_method_calls": True,
}
MACROS = [("CYTHON_CLINE_IN_TRACEBACK", "0"), ("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")]
NO_TABLES = "-fno-asynchronous-unwind-tables"     # which C needs for debuggers only; a twenty-fifth of the package
UNIX_FLAGS = ["-O2", "-g0", NO_TABLES]
SMALL_FLAGS = ["-Os", "-g0", NO_TABLES]         # of modules that hold ops, or run once for each: their time is spent elsewhere
SMALL = ("retrograd.ops.", "retrograd.transforms.", "retrograd.core.opdef", "retrograd.core.recipe", "retrograd.core.schema",
         "retrograd.core.arguments", "retrograd.core.convert", "retrograd.core.dtypes", "retrograd.core.api",
         "retrograd.core.storage", "retrograd.core.forward", "retrograd.autograd.function", "retrograd.autograd.backward",
         "retrograd.autograd.forward_ad", "retrograd.compile.waiting", "retrograd.compile.signature")
KERNEL_FLAGS = ["-O3", "-g0", NO_TABLES, "-fno-math-errno", "-fno-trapping-math"]
# Vectors as at -O3, without its copies of loops, which are a fifth of the file.
NATIVE_FLAGS = ["-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic", *KERNEL_FLAGS[1:]]
LOOP_FLAGS = [*KERNEL_FLAGS, "-fPIC", "-std=gnu11", "-fopenmp-simd", "-ffp-contract=off", "-fvisibility=hidden", "-w"]
# Loops are compiled once for each of these; the best that the machine has is chosen at import.
# The oldest is compiled for size, the others with vector instructions as at -O3 but without its copies of loops.
LEAN_VECTORS = ["-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic"]
INSTRUCTION_SETS = {"v2": ["-march=x86-64-v2", "-Os"], "v3": ["-march=x86-64-v3", *LEAN_VECTORS],
                    "v4": ["-march=x86-64-v4", "-mprefer-vector-width=512", *LEAN_VECTORS]}


def switched_on(name: str) -> bool:
    return os.environ.get(name, "0") not in ("", "0")


def hot_modules() -> list[Extension]:
    """What Cython translates: every .py that has a .pxd beside it, and what has no plain form."""
    sources = [path.with_suffix(".py") for path in (SRC / "retrograd").rglob("*.pxd")]
    sources = [path for path in sources if path.exists() and path.stem != "__init__"] + list((SRC / "retrograd").rglob("*.pyx"))
    return [Extension(".".join(path.relative_to(SRC).with_suffix("").parts), [path.as_posix()]) for path in sorted(sources)]


def extensions() -> list[Extension]:
    if switched_on("RETROGRAD_PLAIN"):
        return []
    native = SRC / "retrograd" / "core" / "native"
    found = [Extension(COMPILED, [COMPILED_C.as_posix()], depends=["setup.py"]),
             Extension(NATIVE, [c.as_posix() for c in sorted(native.glob("*.c"))],
                       depends=["setup.py", *[h.as_posix() for h in sorted(native.glob("*.h"))]])]
    if os.name == "posix":
        found.append(Extension(LOOPS, [(LOOPS_SOURCES / f"{name}.c").as_posix() for name in ("kernel", "pool", "memory")],
                               depends=["setup.py", *map(str, LOOPS_SOURCES.glob("*.h"))]))
    return found


def generate_loops() -> None:
    """Let the library write its own C loops, run from source."""
    LOOPS_DIR.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join(filter(None, [str(SRC.resolve()), os.environ.get("PYTHONPATH")]))
    code = ("import sys; from retrograd.codegen import table; from retrograd.ops.load import import_all; "
            "import_all(); table.write(sys.argv[1])")
    done = subprocess.run([sys.executable, "-c", code, str(LOOPS_DIR)], env=os.environ | {
        "PYTHONPATH": path, "RETROGRAD_PLAIN": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError("the loops could not be generated: " + (done.stderr.strip().splitlines() or ["?"])[-1])


def instruction_sets() -> dict[str, list[str]]:
    """Names and flags of what the loops are compiled for: levels of x86-64, or whatever the compiler makes elsewhere."""
    if os.environ.get("RETROGRAD_MARCH"):
        return {"plain": [f"-march={os.environ['RETROGRAD_MARCH']}", "-mprefer-vector-width=512"]}
    return INSTRUCTION_SETS if platform.machine() in ("x86_64", "AMD64") else {"plain": []}


def headers(path: Path) -> list[Path]:
    """A header, and those beside it that it includes."""
    named = [path.with_name(name) for name in re.findall(r'#include "(.*)"', path.read_text())]
    return [path, *[found for name in named for found in headers(name)]]


def compile_loops(compiler: list[str]) -> list[str]:
    """Compile each file of loops for each instruction set, side by side; return the object files."""
    newest = max(path.stat().st_mtime for path in [Path("setup.py"), *headers(LOOPS_SOURCES / "block.h")])

    def compiled(source: Path, isa: str, flags: list[str]) -> str:
        made = source.with_name(f"{source.stem}_{isa}.o")
        if not made.exists() or made.stat().st_mtime < max(newest, source.stat().st_mtime):
            subprocess.run([*compiler, *LOOP_FLAGS, *flags, f"-DISA={isa}", f"-I{LOOPS_SOURCES}", "-c", str(source),
                            "-o", str(made)], check=True)
        return str(made)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(compiled, source, isa, flags) for source in sorted(LOOPS_DIR.glob("loops*.c"))
                for isa, flags in instruction_sets().items()]
        return [job.result() for job in jobs]


def translate(modules: list[Extension]) -> None:
    """Put the C file that Cython makes in the place of each module's Python source."""
    from Cython.Build import cythonize
    from Cython.Compiler import Options

    # Objects are freed by way of Python's trashcan, so that long chains do not overflow the stack; a directive that can be
    # given to classes only, which have no place for it here, or as a default.
    Options.get_directive_defaults()["trashcan"] = True

    def stale(module: Extension) -> bool:
        c_file = (C_DIR / module.sources[0]).with_suffix(".c")
        return c_file.exists() and c_file.stat().st_mtime < Path("setup.py").stat().st_mtime

    translated = cythonize(modules, build_dir=str(C_DIR), include_path=[str(SRC)], compiler_directives=DIRECTIVES,
                           emit_linenums=False, quiet=True, force=any(map(stale, modules)),
                           nthreads=os.cpu_count() or 1, shared_utility_qualified_name=SHARED)
    for module, result in zip(modules, translated):
        module.sources = result.sources
        for source in result.sources:
            delay_dictionaries(Path(source))
    write_shared()
    modules.append(Extension(SHARED, [SHARED_C.as_posix()]))
    write_names([module.name for module in modules])


def write_shared() -> None:
    """Let Cython write the C file of `_shared`, which every compiled module imports."""
    if not SHARED_C.exists() or SHARED_C.stat().st_mtime < Path("setup.py").stat().st_mtime:
        SHARED_C.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "cython", "generate-shared", "--exclude", "MemoryView", "--module-name", SHARED,
                        str(SHARED_C)], check=True)


def write_names(names: list[str]) -> None:
    """Write the module `_compiled`, which names the modules in its library."""
    last = [name.rpartition(".")[2] for name in names]
    if len(set(last)) < len(last):
        raise RuntimeError("two compiled modules have the same last name: " + ", ".join(n for n in last if last.count(n) > 1))
    text = f'''#include <Python.h>
static struct PyModuleDef definition = {{PyModuleDef_HEAD_INIT, "{COMPILED}", "The library of compiled modules.", -1, NULL}};
PyMODINIT_FUNC PyInit__compiled(void) {{
    PyObject *module = PyModule_Create(&definition);
    if (module && PyModule_AddStringConstant(module, "names", "{" ".join(names)}") < 0) Py_CLEAR(module);
    return module;
}}
'''
    if not COMPILED_C.exists() or COMPILED_C.read_text() != text:
        COMPILED_C.write_text(text)


def delay_dictionaries(source: Path) -> None:
    """Let instances of compiled classes get a dictionary when their first attribute is set, as Python's own do, not at once."""
    text = source.read_text() if source.suffix == ".c" else ""
    eager = "p->__dict__ = PyDict_New(); if (unlikely(!p->__dict__)) goto bad;"
    if eager in text:
        date = source.stat()
        source.write_text(text.replace(eager, "p->__dict__ = NULL;"))
        os.utime(source, ns=(date.st_atime_ns, date.st_mtime_ns))


class BuildExt(build_ext):
    """Compiles all of the hot core or none of it: compiled modules rely on each other's C types."""

    def run(self) -> None:
        wanted = list(self.extensions)
        try:
            if wanted:
                self.prepare()
            super().run()
        except Exception as error:
            if switched_on("RETROGRAD_COMPILED"):
                raise
            self.remove(wanted)
            self.extensions = []
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            print(f"retrograd: nothing compiled ({reason}); installing plain Python, which gives the same results "
                  "more slowly.", file=sys.stderr)

    def prepare(self) -> None:
        import numpy

        if any(module.name == LOOPS for module in self.extensions):
            generate_loops()
        self.modules = hot_modules()
        translate(self.modules)
        for module in self.extensions:
            module.include_dirs.append(numpy.get_include())
            module.define_macros += MACROS
        self.parallel = self.parallel or os.cpu_count()

    def compile_modules(self, numpy_headers: list[str]) -> list[str]:
        """Compile the C file of each module that has changed, side by side; return the object files."""
        def compiled(module: Extension) -> str:
            flags = SMALL_FLAGS if module.name.startswith(SMALL) else UNIX_FLAGS
            source = Path(module.sources[0])
            [made] = self.compiler.object_filenames([str(source)], output_dir=self.build_temp)
            newest = max(source.stat().st_mtime, Path("setup.py").stat().st_mtime)
            if self.force or not Path(made).exists() or Path(made).stat().st_mtime < newest:
                self.compiler.compile([str(source)], output_dir=self.build_temp, macros=MACROS, include_dirs=numpy_headers,
                                      extra_postargs=[] if self.compiler.compiler_type == "msvc" else flags)
            return made

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(compiled, self.modules))

    def build_extensions(self) -> None:
        for module in self.extensions:
            if module.name == COMPILED:
                module.extra_objects += self.compile_modules(module.include_dirs)
                module.depends += module.extra_objects
        if self.compiler.compiler_type != "msvc":
            for module in self.extensions:
                if module.name == LOOPS:
                    module.extra_objects += compile_loops(self.compiler.compiler_so[:1])
                    module.include_dirs += [str(LOOPS_SOURCES), str(LOOPS_DIR)]
                    module.define_macros += [("HAVE_ISAS", "1")] if "v2" in instruction_sets() else []
                    module.depends += [str(LOOPS_DIR / "kernels_info.h"), *module.extra_objects]
                    module.extra_compile_args += ["-std=gnu11", "-fvisibility=hidden"]
                    module.libraries += ["m", "pthread"]
                module.extra_compile_args += NATIVE_FLAGS if module.name == NATIVE else UNIX_FLAGS
                if sys.platform.startswith("linux"):
                    # unused symbols are an eighth of the package, and gaps between code and data two pages of each file
                    module.extra_link_args += ["-Wl,--strip-all", "-Wl,-z,noseparate-code"]
        super().build_extensions()

    def remove(self, modules: list[Extension]) -> None:
        for module in modules:
            built = self.get_ext_filename(module.name)
            for place in (Path(self.build_lib), SRC):
                (place / built).unlink(missing_ok=True)


class BuildPy(build_py):
    """Clears modules that are no longer in the sources out of a build folder that is used again."""

    def run(self) -> None:
        package = Path(self.build_lib) / "retrograd"
        if package.exists() and not self.editable_mode:
            build: Any = self.get_finalized_command("build_ext")
            current = {Path(self.build_lib) / build.get_ext_filename(module.name) for module in build.extensions or []}
            for old in package.rglob("*"):
                if old.is_file() and old not in current:
                    old.unlink()
        super().run()
        if not self.editable_mode:
            (package / "ops" / "_names.py").write_text(self.derived_names())

    def derived_names(self) -> str:
        """The list of names that the op tables declare (see NOTE [Derived names] in ops/names.py)."""
        path = os.pathsep.join(filter(None, [str(SRC.resolve()), os.environ.get("PYTHONPATH")]))
        code = "from retrograd.ops import derive_names; print(derive_names.text(None), end='')"
        done = subprocess.run([sys.executable, "-c", code],
                              env=os.environ | {"PYTHONPATH": path, "RETROGRAD_PLAIN": "1", "RETROGRAD_DERIVES_NAMES": "1",
                                                "PYTHONDONTWRITEBYTECODE": "1"}, stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildExt, "build_py": BuildPy})
