"""The workloads: each takes a torch-like module and returns what to time.

A workload is `make(T) -> Work`. `Work.run` does `units` units of work; the reported time is per unit. Where
`Work.prepare` is given, it runs untimed before every sample and its result is passed to `run`.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

OPS: dict[str, Callable[[Any, Any], Any]] = {
    "mul": lambda a, b: a * b,
    "add": lambda a, b: a + b,
    "sin": lambda a, b: a.sin(),
    "relu": lambda a, b: a.relu(),
    "sum": lambda a, b: a.sum(),
    "matmul": lambda a, b: a @ b,
}
REPEATS = 400
SMALL_REPEATS = 20
CHAIN = 64


@dataclass
class Work:
    run: Callable[..., Any]
    units: int = 1
    prepare: Callable[[], Any] | None = None


Make = Callable[[Any], Work]


def repeated(action: Callable[[], Any], times: int = REPEATS, after: Callable[[], Any] | None = None) -> Work:
    """A unit is one call of `action`; `after` runs once per sample."""
    def run() -> None:
        for _ in range(times):
            action()
        if after is not None:
            after()
    return Work(run, times)


def operands(T: Any, op: str, dtype: str) -> tuple[Any, Any]:
    shape = (4, 4) if op == "matmul" else (4,)
    return tuple(T.ones(shape, dtype=getattr(T, dtype)) for _ in range(2))


def forward(op: str, recorded: bool, dtype: str = "float32") -> Make:
    def make(T: Any) -> Work:
        a, b = operands(T, op, dtype)
        if recorded:
            a.requires_grad_()
        # One closure per op, so that the lambda's own call is the only cost both sides share.
        return repeated({
            "mul": lambda: a * b, "add": lambda: a + b, "sin": lambda: a.sin(), "relu": lambda: a.relu(),
            "sum": lambda: a.sum(), "matmul": lambda: a @ b,
        }[op])
    return make


def backward(op: str) -> Make:
    """Only the backward pass over a chain of equal ops; a unit is one node."""
    def make(T: Any) -> Work:
        a, b = operands(T, op, "float32")
        a.requires_grad_()
        if op == "matmul":
            b = b * 0.25        # keeps the product of 64 matrices of ones finite
        apply = OPS[op]

        def prepare() -> Any:
            a.grad = None
            x = a
            for _ in range(CHAIN):
                x = apply(x, b)
            return x.sum()
        return Work(lambda loss: loss.backward(), CHAIN + 1, prepare)
    return make


def chain(T: Any) -> Work:
    a, b = T.ones(4).requires_grad_(), T.ones(4)

    def run() -> None:
        a.grad = None
        x = a
        for _ in range(33):
            x = ((x * b) + b).sin()
        (x * a).sum().backward()
    return Work(run)


def mlp_step(T: Any) -> Work:
    T.manual_seed(0)
    x, y = T.randn(32, 64), T.randn(32, 10)
    parameters = [(T.randn(*shape) * 0.1).detach().requires_grad_() for shape in ((64, 128), (128,), (128, 10), (10,))]
    w1, b1, w2, b2 = parameters

    def run() -> None:
        difference = (x @ w1 + b1).relu() @ w2 + b2 - y
        (difference * difference).sum().backward()
        with T.no_grad():
            for p in parameters:
                p -= p.grad * 1e-6
                p.grad = None
    return Work(run)


def ode(T: Any) -> Work:
    k = T.tensor(0.5).requires_grad_()

    def run() -> None:
        k.grad = None
        x = T.tensor(1.0)
        for _ in range(1000):
            x = x + (x.sin() - x * k) * 0.01
        x.backward()
    return Work(run)


def double_backward(T: Any) -> Work:
    a, grad = T.ones(4).requires_grad_(), T.autograd.grad

    def run() -> None:
        (g,) = grad((a * a * a).sin().sum(), [a], create_graph=True)
        grad((g * g).sum(), [a])
    return Work(run)


def inplace_add(T: Any) -> Work:
    a, b = T.zeros(4), T.ones(4)
    return repeated(lambda: a.add_(b))


def reshape(T: Any) -> Work:
    a = T.ones(4)
    return repeated(lambda: a.reshape(2, 2))


def getitem(T: Any) -> Work:
    a = T.ones(4)
    return repeated(lambda: a[1:3])


def leaf(T: Any) -> tuple[Any, Callable[[], None]]:
    """A leaf, and what forgets its gradient."""
    a = T.ones(4).requires_grad_()

    def forget() -> None:
        a.grad = None
    return a, forget


def write_through_view(T: Any) -> Work:
    a, forget = leaf(T)

    def once() -> None:
        x = a * 2.0
        x[1:3].mul_(3.0)
        x.sum().backward()
    return repeated(once, SMALL_REPEATS, forget)


def no_grad(T: Any) -> Work:
    scope = T.no_grad

    def once() -> None:
        with scope():
            pass
    return repeated(once)


def custom_function(T: Any) -> Work:
    class Cube(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * x * x * 3.0

    a, forget = leaf(T)
    return repeated(lambda: Cube.apply(a).sum().backward(), SMALL_REPEATS, forget)


def tensor_hook(T: Any) -> Work:
    a, forget = leaf(T)

    def once() -> None:
        x = a * 2.0
        x.register_hook(lambda grad: grad * 0.5)
        x.sum().backward()
    return repeated(once, SMALL_REPEATS, forget)


def jvp(T: Any) -> Work:
    forward_ad = T.autograd.forward_ad
    a, tangent = T.ones(4), T.ones(4)

    def once() -> None:
        with forward_ad.dual_level():
            x = forward_ad.make_dual(a, tangent)
            forward_ad.unpack_dual((x * x).sin().sum())
    return repeated(once, SMALL_REPEATS)


# ---- function transforms
def transformed_jvp(T: Any) -> Work:
    a, tangent, func_jvp = T.ones(4), T.ones(4), T.func.jvp
    return repeated(lambda: func_jvp(lambda x: (x * x).sin().sum(), (a,), (tangent,)), SMALL_REPEATS)


def per_sample_gradients(T: Any) -> Work:
    T.manual_seed(0)
    x, y = T.randn(256, 64), T.randn(256, 10)
    parameters = tuple(T.randn(*shape) * 0.1 for shape in ((64, 128), (128,), (128, 10), (10,)))

    def loss(parameters: Any, x: Any, y: Any) -> Any:
        w1, b1, w2, b2 = parameters
        difference = (x @ w1 + b1).relu() @ w2 + b2 - y
        return (difference * difference).sum()
    gradients = T.func.vmap(T.func.grad(loss), in_dims=(None, 0, 0))
    return Work(lambda: gradients(parameters, x, y))


def hessian(T: Any) -> Work:
    T.manual_seed(0)
    x = T.randn(100)
    matrix = T.func.hessian(lambda x: ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum())
    return Work(lambda: matrix(x))


def banded_jacobian(T: Any) -> Work:
    """Three diagonals of a matrix of 10,000 columns: sparse where that can be had, pattern and coloring included."""
    T.manual_seed(0)
    x = T.randn(10_000)
    jacobian = getattr(T.func, "sparse_jacobian", T.func.jacrev)(
        lambda x: x[1:-1] ** 2 * x[2:] - x[:-2].sin() * x[1:-1])
    return Work(lambda: jacobian(x))


WORKLOADS: dict[str, Make] = {
    **{f"fwd-nograd/{op}/f32": forward(op, False) for op in OPS},
    "fwd-nograd/mul/f64": forward("mul", False, "float64"),
    **{f"fwd-grad/{op}/f32": forward(op, True) for op in OPS},
    "fwd-grad/mul/f64": forward("mul", True, "float64"),
    **{f"bwd-node/{op}/f32": backward(op) for op in OPS if op != "sum"},
    "chain100 fwd+bwd": chain,
    "mlp 32x64-128-10 step": mlp_step,
    "ode 1000 scalar steps": ode,
    "double backward": double_backward,
    "inplace add_": inplace_add,
    "view reshape": reshape,
    "view getitem": getitem,
    "view+inplace+backward": write_through_view,
    "no_grad enter/exit": no_grad,
    "custom Function f+b": custom_function,
    "tensor hook f+b": tensor_hook,
    "jvp of 3 ops": jvp,
}

# a group of its own, in no mean: the last of them would be all there is to see in it
TRANSFORMS: dict[str, Make] = {
    "func.jvp of 3 ops": transformed_jvp,
    "func per-sample grads": per_sample_gradients,
    "func.hessian, 100 numbers": hessian,
    "func sparse jacobian, 10^4": banded_jacobian,
}
