"""GraphModule: a module whose `forward` is written from a Graph."""
from __future__ import annotations

import copy
import itertools
import linecache
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import retrograd as torch
from retrograd.fx._codegen import PythonCode, _PyTreeCodeGen
from retrograd.fx._names import is_ours, module_of
from retrograd.fx.graph import Graph
from retrograd.nn import Module

__all__ = ["GraphModule", "reduce_graph_module"]

source_number = itertools.count().__next__


def run_source(src: str, scope: dict[str, Any]) -> None:
    """Execute source in `scope`, such that tracebacks show its lines."""
    name = f"<eval_with_key>.{source_number()}"
    linecache.cache[name] = (len(src), None, src.splitlines(keepends=True), name)
    exec(compile(src, name, "exec", dont_inherit=True), scope)


def forward_from(code: PythonCode) -> Callable[..., Any]:
    scope = dict(code.globals)
    run_source(code.src, scope)
    return scope["forward"]


class GraphModule(Module):
    """A module made of a graph and of what the graph refers to; changing the graph and `recompile()` change its code.

    >>> import retrograd as torch
    >>> model = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()))
    >>> for node in model.graph.nodes:
    ...     if node.op == "output":
    ...         node.args = (node.args[0].args[0],)
    >>> _ = model.recompile()
    >>> print(model.code.strip())
    def forward(self, input):
        input_1 = input
        _0 = getattr(self, "0")(input_1);  input_1 = None
        _1 = getattr(self, "1")(_0);  _1 = None
        return _0
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        # Each has a class of its own, so that each has a `forward` of its own.
        for base in cls.__mro__:
            if base.__qualname__.endswith(".GraphModuleImpl"):
                continue
            cls = base
            break

        class GraphModuleImpl(cls):     # type: ignore[misc, valid-type]
            pass
        return super().__new__(GraphModuleImpl)

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        if isinstance(root, Module):
            if hasattr(root, "training"):
                self.training = root.training
            targets = {node.target: None for node in graph.nodes if node.op in ("call_module", "get_attr")}
            for target in targets:
                copy_attribute(root, self, target)
        elif isinstance(root, dict):
            for node in graph.nodes:
                if node.op in ("call_module", "get_attr") and node.target not in root:
                    raise RuntimeError(f"Node {node} referenced target {node.target} but that target was not provided in "
                                       "``root``!")
            wanted = {node.target for node in graph.nodes if node.op in ("call_module", "get_attr")}
            for target in sorted(wanted, key=lambda name: name.count(".")):
                assign_attribute(root[target], self, target)
        else:
            raise RuntimeError("Unsupported type " + str(root) + " passed for root!")
        self.meta: dict[str, Any] = dict(getattr(root, "meta", {}) or {}) if isinstance(root, GraphModule) else {}
        self._replace_hooks: list[Callable[..., Any]] = []
        self._create_node_hooks: list[Callable[..., Any]] = []
        self._erase_node_hooks: list[Callable[..., Any]] = []
        self._tracer_cls = graph._tracer_cls
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """The graph; setting another one recompiles."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "graph":
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)

    @property
    def code(self) -> str:
        """The source of `forward`."""
        if not hasattr(self, "_code"):
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return self._code

    def recompile(self) -> PythonCode:
        """Write `forward` again from the graph."""
        if isinstance(self._graph._codegen, _PyTreeCodeGen):
            self._in_spec = self._graph._codegen.pytree_info.in_spec
            self._out_spec = self._graph._codegen.pytree_info.out_spec
        code = self._graph.python_code(root_module="self")
        self._code = code.src
        cls = type(self)
        cls.forward = forward_from(code)     # type: ignore[method-assign]
        if "_fx_call" not in vars(cls):
            inner = vars(cls).get("__call__")

            def call(self: Any, *args: Any, **kwargs: Any) -> Any:
                try:
                    return (inner or super(cls, self).__call__)(*((self, *args) if inner else args), **kwargs)
                except Exception as error:
                    show_generated_line(error)
                    raise
            cls.__call__ = call     # type: ignore[method-assign]
            cls._fx_call = True     # type: ignore[attr-defined]
        return code

    def _recompile_submodules(self) -> list[Any]:
        return [module.recompile() for module in self.modules() if isinstance(module, GraphModule) and module is not self]

    # ---- parts
    def add_submodule(self, target: str, m: Any) -> bool:
        """Put a module at a dotted name; say whether that was possible.

        >>> import retrograd as torch
        >>> model = torch.fx.symbolic_trace(lambda x: x + 1)
        >>> model.add_submodule("head.linear", torch.nn.Linear(2, 2)), model.head.linear.in_features
        (True, 2)
        """
        *path, last = target.split(".")
        here: Any = self
        for part in path:
            inner = getattr(here, part, None)
            if inner is None:
                inner = Module()
                setattr(here, part, inner)
            if not isinstance(inner, Module):
                return False
            here = inner
        here.add_module(last, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take the module at a dotted name away; say whether there was one."""
        *path, last = target.split(".")
        here: Any = self
        for part in path:
            here = getattr(here, part, None)
            if not isinstance(here, Module):
                return False
        if not isinstance(getattr(here, last, None), Module):
            return False
        delattr(here, last)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Take away the modules that the graph does not call."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used.update([".".join(parts[:i + 1]) for i in range(len(parts))])
                if node.op == "call_module":
                    inside = self.get_submodule(node.target).named_modules()
                    used.update([f"{node.target}.{name}" for name, _ in inside if name])
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # ---- text
    def __str__(self) -> str:
        reminder = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__str__(), self._code, reminder])

    def print_readable(self, print_output: bool = True, include_stride: bool = False, include_device: bool = False,
                       colored: bool = False, *, fast_sympy_print: bool = False, expanded_def: bool = False,
                       additional_meta: Any = None) -> str:
        """The code as a class, with the kinds of its values and the lines that they come from; printed and returned.

        >>> import retrograd as torch
        >>> _ = torch.fx.symbolic_trace(lambda x: x + 1).print_readable()
        class <lambda>(torch.nn.Module):
            def forward(self, x):
                # No stacktrace found for following nodes
                add = x + 1;  x = None
                return add
        """
        code = self._graph.python_code("self", verbose=True, include_stride=include_stride, include_device=include_device,
                                       expanded_def=expanded_def).src
        body = indented(code.strip("\n").rstrip())
        inner = [indented(child.print_readable(False, include_stride, include_device))
                 for child in self.children() if isinstance(child, GraphModule)]
        text = f"class {type(self).__name__}(torch.nn.Module):\n{body}\n" + "".join([f"\n{part}" for part in inner])
        if print_output:
            print(text)
        return text

    # ---- copies
    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        state = copy.deepcopy({k: v for k, v in self.__dict__.items() if k not in NOT_COPIED}, memo)
        holder = Module()
        holder.__dict__.update(state)
        GraphModule.__init__(made, holder, copy.deepcopy(self._graph, memo), type(self).__name__)
        for name, value in state.items():
            if name not in made.__dict__ or name in ("training", "_forward_hooks", "_forward_pre_hooks"):
                made.__dict__[name] = value
        for kind in ("_parameters", "_buffers", "_modules"):
            for name, value in state[kind].items():
                made.__dict__[kind].setdefault(name, value)
        made.meta = self.meta
        return made

    def __copy__(self) -> Any:
        made = GraphModule(self, copy.deepcopy(self._graph), type(self).__name__)
        made.meta = self.meta
        return made

    def __reduce__(self) -> Any:
        state = {k: v for k, v in self.__dict__.items() if k not in ("_graph", *HOOKS)}
        code = self._graph.python_code("self")
        state["_graphmodule_cls_name"] = type(self).__name__
        state["_fx_meta"] = {node.name: keepable(node.meta) for node in self._graph.nodes}
        return reduce_graph_module, (state, imports_of(code.globals))

    def to_folder(self, folder: Any, module_name: str = "FxModule") -> None:
        """Write the module as a Python package: its code, its parameters and its submodules.

        >>> import tempfile, retrograd as torch
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU())).to_folder(folder, "Net")
        ...     sorted(path.name for path in Path(folder).iterdir())
        ['__init__.py', 'module.py', 'modules.pt', 'state_dict.pt']
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        torch.save(self.state_dict(), folder / "state_dict.pt")
        torch.save(dict(self.named_children()), folder / "modules.pt")
        lines = ["from pathlib import Path", "import retrograd as torch", "from retrograd.nn import *",
                 imports_of(self._graph.python_code("self").globals), f"class {module_name}(torch.nn.Module):",
                 "    def __init__(self):", "        super().__init__()", "        here = Path(__file__).parent",
                 '        for name, child in torch.load(here / "modules.pt", weights_only=False).items():',
                 "            self.add_module(name, child)"]
        for name, value in [*self._parameters.items(), *self._buffers.items()]:
            if value is not None:
                kind = "torch.nn.Parameter" if name in self._parameters else ""
                empty = f"torch.empty({list(value.shape)}, dtype={value.dtype})"
                lines.append(f"        self.{name} = {kind}({empty})" if kind
                             else f"        self.register_buffer({name!r}, {empty})")
        lines.append('        self.load_state_dict(torch.load(here / "state_dict.pt"))')
        (folder / "module.py").write_text("\n".join(lines) + "\n" + indented(self.code.strip("\n").rstrip()) + "\n")
        (folder / "__init__.py").write_text("from .module import *\n")

    # ---- hooks for those who watch the graph change
    @contextmanager
    def _set_replace_hook(self, f: Callable[..., Any]) -> Iterator[None]:
        self._replace_hooks.append(f)
        try:
            yield
        finally:
            self._replace_hooks.remove(f)

    def _register_replace_node_hook(self, f: Callable[..., Any]) -> None:
        self._replace_hooks.append(f)

    def _unregister_replace_node_hook(self, f: Callable[..., Any]) -> None:
        self._replace_hooks.remove(f)

    def _register_create_node_hook(self, f: Callable[..., Any]) -> None:
        self._create_node_hooks.append(f)

    def _unregister_create_node_hook(self, f: Callable[..., Any]) -> None:
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f: Callable[..., Any]) -> None:
        self._erase_node_hooks.append(f)

    def _unregister_erase_node_hook(self, f: Callable[..., Any]) -> None:
        self._erase_node_hooks.remove(f)


HOOKS = ("_replace_hooks", "_create_node_hooks", "_erase_node_hooks")
NOT_COPIED = ("_graph", "meta", *HOOKS)


def copy_attribute(source: Any, target: Any, name: str) -> None:
    """Give `target` what `source` has at a dotted name; the way there is made of plain modules."""
    *path, last = name.split(".")
    for part in path:
        inner = getattr(source, part)
        there = getattr(target, part, None)
        if inner is there:
            return                                # all of it has been given before
        if there is None:
            there = Module()
            setattr(target, part, there)
        source, target = inner, there
    value = getattr(source, last)
    if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter):
        target.register_buffer(last, value)
    else:
        setattr(target, last, value)


def assign_attribute(value: Any, target: Any, name: str) -> None:
    *path, last = name.split(".")
    for part in path:
        there = getattr(target, part, None)
        if there is None:
            there = Module()
            setattr(target, part, there)
        target = there
    if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter):
        target.register_buffer(last, value)
    else:
        setattr(target, last, value)


def indented(text: str) -> str:
    return "\n".join([f"    {line}" if line.strip() else "" for line in text.split("\n")])


def show_generated_line(error: Exception) -> None:
    """Say on stderr which generated line an error comes from, since no file has it."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith("<eval_with_key>")]
    if not frames or getattr(error, "_fx_shown", False):
        return
    line = frames[-1].lineno or 0
    source = linecache.getlines(frames[-1].filename)
    around = "".join(source[max(line - 3, 0):line + 2])
    try:
        error._fx_shown = True      # type: ignore[attr-defined]
    except AttributeError:
        pass
    sys.stderr.write(f"Call using an FX-traced Module, line {line} of the traced Module's generated forward function:\n"
                     f"{around}\n")


def imports_of(scope: dict[str, Any]) -> str:
    """Import statements for the global names of generated code."""
    lines = []
    for name, value in sorted(scope.items()):
        if name in ("inf", "nan", "NoneType", "device", "pytree", "torch", "fx_pytree") or is_ours(value):
            continue
        module = getattr(value, "__module__", None)
        if module is None or getattr(sys.modules.get(module), getattr(value, "__name__", ""), None) is not value:
            warnings.warn(f"{name} is not where it says it is defined ({module}): the code cannot import it", stacklevel=3)
            continue
        lines.append(f"from {module_of(value)} import {getattr(value, '__name__', name)} as {name}")
    return "\n".join(lines)


def reduce_graph_module(body: dict[str, Any], import_block: str) -> GraphModule:
    """A GraphModule again, from what pickle kept of it."""
    from retrograd.fx._symbolic_trace import Tracer
    state = dict(body)
    source, name = state.pop("_code"), state.pop("_graphmodule_cls_name")
    notes = state.pop("_fx_meta", {})
    scope: dict[str, Any] = {"inf": float("inf"), "nan": float("nan"), "NoneType": type(None), "device": torch.device,
                             "torch": torch_for(source)}
    run_source(import_block + "\n" + source, scope)
    holder = type("CodeOnlyModule", (Module,), {"forward": scope["forward"]})()
    holder.__dict__.update(state)

    class KeepModules(Tracer):
        def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
            return True
    graph = KeepModules().trace(holder)
    graph._tracer_cls = state.get("_tracer_cls")
    made = GraphModule(holder, graph, name)
    for key, value in state.items():
        made.__dict__.setdefault(key, value)
    for node in graph.nodes:
        node.meta.update(notes.get(node.name, {}))
    return made


def torch_for(source: str) -> Any:
    from retrograd.fx._names import torch_with
    named = {f"torch._C._nn.{name}": getattr(torch.nn.functional, name)
             for name in dir(torch.nn.functional) if f"torch._C._nn.{name}" in source}
    for space in ("special", "fft", "linalg"):
        for name in dir(getattr(torch, space)):
            path = f"torch._C._{space}.{space}_{name}"
            if path in source:
                named[path] = getattr(getattr(torch, space), name)
    return torch_with(named)


def keepable(meta: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in meta.items() if isinstance(value, str | int | float | bool | tuple | list | dict)}


