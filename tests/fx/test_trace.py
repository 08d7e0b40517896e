"""Symbolic tracing: what becomes a node, what is refused, and modules made from graphs."""
from __future__ import annotations

import copy
import math
import pickle
import typing
from pathlib import Path
from typing import Any

import pytest

import retrograd as torch
import retrograd.nn.functional as F
from retrograd import fx, nn
from retrograd.fx import _symbolic_trace as st
from retrograd.fx.experimental.proxy_tensor import make_fx
from retrograd.fx.passes.split_module import split_module
from retrograd.fx.proxy import TraceError


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.param = nn.Parameter(torch.ones(3, 4))
        self.linear = nn.Linear(4, 5)
        self.seq = nn.Sequential(nn.Linear(5, 5), nn.ReLU())
        self.register_buffer("buf", torch.zeros(5))

    def forward(self, x: Any, y: Any = None, *args: Any, k: int = 3, **kw: Any) -> Any:
        z = self.linear(x + self.param).clamp(min=0.0)
        z = self.seq(z) + self.buf
        q = F.relu(z[0], inplace=True) + F.dropout(z[..., 1:2], 0.3, training=False)
        return {"a": (q, z.shape[0]), "b": [z.T, -z, 2 ** z, torch.cat([z, z], dim=1)]}


@fx.wrap
def opaque(x: Any, n: int) -> Any:
    return x * 2 if n > 1 else x


fx.wrap("len")


def lines(program: Any, **options: Any) -> list[str]:
    code = fx.symbolic_trace(program, **options).code.strip().split("\n")
    return [line.strip() for line in code]


def test_module_is_traced_to_its_leaf_modules() -> None:
    assert lines(Net()) == """def forward(self, x : typing_Any, y : typing_Any = None, k : int = 3, *args, **kw) -> typing_Any:
_args = args
_kw = kw
param = self.param
add = x + param;  x = param = None
linear = self.linear(add);  add = None
clamp = linear.clamp(min = 0.0);  linear = None
seq_0 = getattr(self.seq, "0")(clamp);  clamp = None
seq_1 = getattr(self.seq, "1")(seq_0);  seq_0 = None
buf = self.buf
add_1 = seq_1 + buf;  seq_1 = buf = None
getitem = add_1[0]
relu = torch.nn.functional.relu(getitem, inplace = True);  getitem = None
getitem_1 = add_1[(Ellipsis, slice(1, 2, None))]
dropout = torch.nn.functional.dropout(getitem_1, p = 0.3, training = False, inplace = False);  getitem_1 = None
add_2 = relu + dropout;  relu = dropout = None
getattr_1 = add_1.shape
getitem_2 = getattr_1[0];  getattr_1 = None
neg = -add_1
pow_1 = 2 ** add_1
cat = torch.cat([add_1, add_1], dim = 1)
getattr_2 = add_1.T;  add_1 = None
return {'a': (add_2, getitem_2), 'b': [getattr_2, neg, pow_1, cat]}""".split("\n")


def test_traced_module_computes_what_the_module_does() -> None:
    torch.manual_seed(0)
    net = Net()
    x = torch.randn(3, 4)
    traced = fx.symbolic_trace(net)
    assert torch.equal(traced(x)["b"][1], net(x)["b"][1]) and traced(x)["a"][1] == 3
    assert dict(traced.named_parameters()).keys() == dict(net.named_parameters()).keys()
    assert traced.linear is net.linear and type(traced).__name__ == "Net"


@pytest.mark.parametrize("function", [
    lambda x: torch.sin(x) * math.pi / 2 - 1,
    lambda x: torch.add(x, x, alpha=2).to(torch.float64).view(-1, 2)[:, None, 0::2],
    lambda x: torch.special.gammaln(x) + torch.linalg.norm(x) + torch.ops.aten.mul.Tensor(x, 2),
    lambda x: torch.zeros_like(x) + torch.einsum("ij,kj->ik", x, x),
    lambda x: F.linear(x, torch.eye(2)) + F.softmax(x, dim=-1) + F.gelu(x) + F.mse_loss(x, x),
    lambda x: sum(x.split(1), start=torch.ones(1)) if False else x.split(1)[0],
    lambda x: torch.where(x > 0, x, -x).abs() + abs(x) + 3 // (x + 1) + x % 2,
    lambda x: torch.stack([x, x]).mean(0) + torch.full_like(x, 2) + torch.ones(2) @ x,
    lambda x: F.layer_norm(x, (2,)) + F.batch_norm(x, None, None, training=True) + torch.norm(x),
    lambda x: x.unsqueeze(0).expand(2, -1, -1).sum(0, keepdim=False).clone().add_(1),
    lambda x: torch.ones(2)[None] + x + torch.ones(2) * x,
])
def test_traced_function_gives_the_same_values(function: Any) -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.5]])
    traced = fx.symbolic_trace(function)
    assert len(traced.graph.nodes) > 2
    assert torch.equal(traced(x), function(x))
    assert torch.equal(fx.Interpreter(traced).run(x), function(x))


def test_unpacking_gives_the_items() -> None:
    def function(x: Any) -> Any:
        a, b = x.split(2)
        return a + b
    assert lines(function)[1:4] == ["split = x.split(2);  x = None", "getitem = split[0]",
                                    "getitem_1 = split[1];  split = None"]


def test_wrapped_functions_are_not_looked_into() -> None:
    traced = fx.symbolic_trace(lambda x, n: opaque(x, n) + len(x))
    assert [node.name for node in traced.graph.nodes] == ["x", "n", "opaque", "len_1", "add", "output"]
    assert traced(torch.ones(2), 5).tolist() == [4.0, 4.0]
    assert opaque(torch.ones(1), 1).tolist() == [1.0]


def test_wrap_belongs_at_module_scope() -> None:
    with pytest.raises(NotImplementedError, match="wrap must be called at the top level of a module"):
        fx.wrap("math")


@pytest.mark.parametrize(("function", "error", "text"), [
    (lambda x: x if x.sum() > 0 else -x, TraceError, "symbolically traced variables cannot be used as inputs to control flow"),
    (lambda x: [i for i in x], TraceError, "Proxy object cannot be iterated"),
    (lambda x: dict(**x), TraceError, "Proxy object cannot be iterated"),
    (lambda x: int(x), TypeError, "int\\(\\) argument must be"),
    (lambda x: range(x), TypeError, "'Proxy' object cannot be interpreted as an integer"),
])
def test_what_depends_on_values_is_refused(function: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        fx.symbolic_trace(function)


def test_concrete_arguments_become_part_of_the_graph() -> None:
    traced = fx.symbolic_trace(lambda x, flag: x if flag else -x, concrete_args={"flag": True})
    assert traced(torch.ones(1), True).tolist() == [1.0]
    with pytest.raises(AssertionError, match="flag has been specialized to have value True but got another value"):
        traced(torch.ones(1), False)


def test_nested_concrete_arguments_are_taken_apart() -> None:
    def function(d: Any) -> Any:
        return {"sum": d["a"] + d["b"][0]}
    traced = fx.symbolic_trace(function, concrete_args={"d": {"a": fx.PH, "b": [fx.PH]}})
    assert "d_1, d_2, = fx_pytree.tree_flatten_spec([d], self._in_spec)" in traced.code
    assert traced({"a": torch.ones(1), "b": [torch.ones(1)]})["sum"].tolist() == [2.0]


def test_asserts_can_be_traced() -> None:
    class Asserting(fx.Tracer):
        trace_asserts = True

    scope: dict[str, Any] = {}            # compiled here, because pytest rewrites the asserts of this file
    exec("def function(x):\n    assert x.sum() > 0, 'must be positive'\n    return x", scope)
    tracer = Asserting()
    graph = tracer.trace(scope["function"])
    module = fx.GraphModule(tracer.root, graph)
    assert module(torch.ones(1)).tolist() == [1.0]
    with pytest.raises(AssertionError, match="must be positive"):
        module(-torch.ones(1))


def test_proxies_can_be_made_by_hand() -> None:
    traced = fx.symbolic_trace(lambda x: x + 1)
    add, = [node for node in traced.graph.nodes if node.name == "add"]
    with traced.graph.inserting_before(traced.graph.output_node()):
        new = torch.relu(fx.Proxy(add)) * 2
    add.replace_all_uses_with(new.node, lambda user: user.op == "output")
    traced.graph.lint()
    traced.recompile()
    assert traced(-torch.ones(1) * 3).tolist() == [0.0]


def test_copies_are_independent() -> None:
    traced = fx.symbolic_trace(Net())
    twin = copy.deepcopy(traced)
    assert twin.code == traced.code and twin.linear is not traced.linear and type(twin).__name__ == "Net"
    twin.graph.output_node().args = (1,)
    twin.recompile()
    assert twin.code != traced.code


def test_pickle_brings_the_module_back() -> None:
    torch.manual_seed(0)
    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
    again = pickle.loads(pickle.dumps(traced))
    x = torch.ones(1, 2)
    assert torch.equal(again(x), traced(x)) and again.code == traced.code and type(again).__name__ == "Sequential"


def test_module_is_written_to_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 3)))
    traced.to_folder(tmp_path / "written_net", "WrittenNet")
    monkeypatch.syspath_prepend(tmp_path)
    import written_net  # type: ignore[import-not-found]
    assert torch.equal(written_net.WrittenNet()(torch.ones(1, 2)), traced(torch.ones(1, 2)))


def test_submodules_are_added_and_deleted() -> None:
    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    assert traced.add_submodule("a.b", nn.ReLU()) and isinstance(traced.a.b, nn.ReLU)
    assert not traced.delete_submodule("a.c") and traced.delete_submodule("a.b")
    traced.delete_all_unused_submodules()
    assert [name for name, _ in traced.named_children()] == ["0", "1"]


def test_readable_code_says_what_values_are(capsys: Any) -> None:
    traced = fx.symbolic_trace(lambda x: torch.relu(x))
    relu = traced.graph.find_nodes(op="call_function", target=torch.relu)[0]
    relu.meta["val"] = torch.ones(2, 3)
    relu.stack_trace = '  File "model.py", line 3, in forward\n    y = relu(x)\n'
    text = traced.print_readable(include_stride=True, include_device=True)
    assert text == capsys.readouterr().out[:-1] == """class <lambda>(torch.nn.Module):
    def forward(self, x):
        # File: model.py:3 in forward, code: y = relu(x)
        relu: "f32[2, 3][3, 1]cpu" = torch.relu(x);  x = None
        return relu
"""


def test_error_in_generated_code_shows_its_line(capsys: Any) -> None:
    with pytest.raises(RuntimeError):
        fx.symbolic_trace(lambda x: x.view(7))(torch.ones(2))
    assert "Call using an FX-traced Module, line 5 of the traced Module's generated forward function" in capsys.readouterr().err


def test_functions_of_math_are_recorded_as_calls() -> None:
    traced = torch.fx.symbolic_trace(lambda x: math.floor(x.size(0) / 2))
    assert [node.target for node in traced.graph.find_nodes(op="call_function", target=math.floor)] == [math.floor]
    assert traced(torch.ones(5)) == 2 and math.floor(2.5) == 2


def test_nodes_are_ordered_among_themselves_only() -> None:
    first, second = list(torch.fx.symbolic_trace(lambda x: x + 1).graph.nodes)[:2]
    assert first < second and second >= first
    with pytest.raises(TypeError, match="'<' not supported between instances of 'int' and 'Node'"):
        sorted([first, 3])     # type: ignore[type-var]


def test_two_nodes_of_a_pattern_are_two_nodes_of_the_graph() -> None:
    traced = torch.fx.symbolic_trace(lambda x: torch.add(x, torch.add(x, x)))
    matches = torch.fx.replace_pattern(traced, lambda a, b: torch.add(a, b), lambda a, b: torch.mul(a, b))
    assert len(matches) == 1 and traced.code.count("torch.mul") == 1 == traced.code.count("torch.add")


class Scale(nn.Module):
    """A module with a parameter, a plain tensor and a child."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.weight, self.plain = nn.Linear(2, 2), nn.Parameter(torch.ones(2)), torch.ones(2)

    def forward(self, x: Any) -> Any:
        return self.inner(x) * self.weight * math.sqrt(4.0) + self.plain


def test_a_tracer_may_bring_its_own_trace() -> None:
    class Own(st.Tracer):
        @st.compatibility(is_backward_compatible=True)
        def trace(self, root: Any, concrete_args: Any = None) -> Any:
            self.root, function = root, type(root).forward
            self.submodule_paths = {module: name for name, module in root.named_modules()}
            self.graph = torch.fx.Graph(tracer_cls=type(self))
            self.tensor_attrs = {value: name for name, value in vars(root).items()
                                 if isinstance(value, (torch.Tensor, st.ScriptObject))}
            assert isinstance(function, st.FunctionType)
            scope = function.__globals__
            function, args = self.create_args_for_root(function, True, concrete_args)
            seen: dict[str, Any] = {}

            @st.functools.wraps(st._orig_module_getattr)
            def read(module: Any, name: str) -> Any:
                return self.getattr(name, st._orig_module_getattr(module, name), seen)

            @st.functools.wraps(st._orig_module_call)
            def called(module: Any, *args: Any, **kwargs: Any) -> Any:
                return self.call_module(module, lambda *a, **k: st._orig_module_call(module, *a, **k), args, kwargs)
            with st._Patcher() as patcher:
                patcher.patch_method(nn.Module, "__getattr__", read, deduplicate=False)
                patcher.patch_method(nn.Module, "__call__", called, deduplicate=False)
                st._patch_wrapped_functions(patcher)
                assert st._autowrap_check(patcher, scope, self._autowrap_function_ids) is patcher
                self.create_node("output", "output", (self.create_arg(function(*args)),), {})
            return self.graph
    call = nn.Module.__call__
    module, x = Scale(), torch.randn(3, 2)
    graph = Own().trace(module)
    assert nn.Module.__call__ is call
    assert [node.target for node in graph.nodes if node.op in ("get_attr", "call_module")] == ["inner", "weight", "plain"]
    assert torch.equal(torch.fx.GraphModule(module, graph)(x), module(x))


def test_patches_nest_and_are_undone() -> None:
    scope: dict[str, Any] = {"f": (first := lambda: 1)}
    with st._Patcher() as outer:
        outer.patch(scope, "f", second := lambda: 2)
        outer.patch(scope, "len", lambda x: 0)
        with st._Patcher() as inner:
            inner.patch(scope, "f", lambda: 3)           # already patched: stays
            assert scope["f"] is second
        assert scope["f"] is second and outer.visit_once(scope) and not outer.visit_once(scope)
    assert scope == {"f": first}


class Kind:
    pass


@pytest.mark.parametrize(("annotation", "text"), [
    ("Optional[int]", "typing_Union[int,NoneType]"), ("int | None", "int|NoneType"),
    ("Union[torch.Tensor, Kind, None]", "typing_Union[torch.Tensor,{kind},NoneType]"),
    ("List[List[Kind]]", "typing_List[typing_List[{kind}]]"), ("list[Kind]", "list[{kind}]"),
    ("Tuple[int, ...]", "typing_Tuple[int,...]"), ("Callable[[int], Kind]", "collections_abc_Callable[[int],{kind}]"),
    ("Sequence[Kind]", "collections_abc_Sequence[{kind}]"), ("List", "list"), ("Literal['a']", "typing_Literal['a']"),
])
def test_generic_annotations_name_all_their_parts(annotation: str, text: str) -> None:
    def f(x: Any) -> Any:
        return x
    kind = eval(annotation, {**vars(typing), "torch": torch, "Kind": Kind})
    f.__annotations__ = {"x": kind, "return": kind}
    traced = fx.symbolic_trace(f)
    text = text.format(kind=f"{Kind.__module__}.Kind".replace(".", "_"))
    assert traced.code.strip().splitlines()[0] == f"def forward(self, x : {text}) -> {text}:"
    assert traced(3) == 3


def test_make_fx_copies_constants_before_use() -> None:
    graph = make_fx(lambda x: torch.tensor([1.0]).add_(x))(torch.ones(1))
    assert "lift_fresh_copy" in graph.code
    assert graph(torch.ones(1)).item() == graph(torch.ones(1)).item() == 2


def test_split_module_needs_no_root() -> None:
    traced = fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    split = split_module(traced, None, lambda node: node.name)
    assert split(torch.ones(1)).item() == 2
