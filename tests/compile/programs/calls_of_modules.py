"""Programs of functions that are called several times: modes, modules, memory, containers, indices, control flow."""
from __future__ import annotations

import dataclasses
import types
import weakref

import retrograd as torch
from retrograd import nn
from tests.compile.programs.base import Compile
from tests.compile.programs.calls import Step, stepwise


@stepwise
def no_grad_toggle(c: Compile) -> Step:
    f = c(lambda x: x * 2)

    def step(i):
        x = torch.ones(2, requires_grad=True)
        with torch.set_grad_enabled(bool(i % 2)):
            return f(x).requires_grad

    return step


@stepwise
def inference_mode(c: Compile) -> Step:
    f = c(lambda x: x * 2)

    def step(i):
        with torch.inference_mode(bool(i % 2)):
            return f(torch.ones(2)).is_inference()

    return step


@stepwise
def requires_toggle(c: Compile) -> Step:
    p = torch.ones(2)
    f = c(lambda: (p * p).sum())

    def step(i):
        p.requires_grad_(bool(i % 2))
        r = f()
        return r.requires_grad

    return step


@stepwise
def train_eval(c: Compile) -> Step:
    m = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.0))
    f = c(m)

    def step(i):
        m.train(bool(i % 2))
        return f(torch.arange(6.0).reshape(2, 3) + i), m[0].running_mean.clone(), int(m[0].num_batches_tracked)

    return step


@stepwise
def module_hooks(c: Compile) -> Step:
    m = nn.Linear(2, 2)
    log = []
    with torch.no_grad():
        m.weight.fill_(0.5)
        m.bias.zero_()
    m.register_forward_hook(lambda mod, a, o: (log.append(len(log)), o * len(log))[1])
    f = c(m)
    return lambda i: (f(torch.ones(1, 2)), len(log))


@stepwise
def module_param_swapped(c: Compile) -> Step:
    m = nn.Linear(2, 2, bias=False)
    f = c(m)

    def step(i):
        m.weight = nn.Parameter(torch.ones(2, 2) * i)
        return f(torch.ones(1, 2))

    return step


@stepwise
def module_monkeypatch(c: Compile) -> Step:
    m = nn.Linear(2, 2, bias=False)
    m.weight.data.fill_(1.0)
    f = c(lambda x: m(x))

    def step(i):
        m.forward = lambda x, i=i: x * i
        return f(torch.ones(1, 2))

    return step


@stepwise
def func_patched(c: Compile) -> Step:
    ns = types.SimpleNamespace(act=torch.sin)
    f = c(lambda x: ns.act(x))

    def step(i):
        ns.act = [torch.sin, torch.cos, torch.exp][i % 3]
        return f(torch.ones(2))

    return step


@stepwise
def global_list_tensor(c: Compile) -> Step:
    L = [torch.ones(2)]
    f = c(lambda x: sum(L) * x)

    def step(i):
        L.append(torch.ones(2) * i)
        return f(torch.ones(2))

    return step


@stepwise
def set_data(c: Compile) -> Step:
    x = torch.ones(2)
    f = c(lambda: x * 2)

    def step(i):
        x.data = torch.ones(2 + i) * i
        return f()

    return step


@stepwise
def numpy_shared(c: Compile) -> Step:
    a = torch.ones(3)
    n = a.numpy()
    f = c(lambda: (a * 2).sum())

    def step(i):
        n[:] = i
        return f()

    return step


@stepwise
def numpy_written_inside(c: Compile) -> Step:
    a = torch.ones(3)
    n = a.numpy()

    @c
    def f():
        y = a * 2
        n[:] += 1
        return y + a

    return lambda i: f()


@stepwise
def out_arg(c: Compile) -> Step:
    o = torch.empty(3)

    @c
    def f(x):
        torch.add(x, 1, out=o)
        return o * 2

    return lambda i: (f(torch.ones(3) * i), o.clone())


@stepwise
def weak(c: Compile) -> Step:
    @c
    def f(x):
        y = x * 2
        r = weakref.ref(y)
        z = y + 1
        del y
        return z, r() is None

    return lambda i: f(torch.ones(3))


@stepwise
def ids(c: Compile) -> Step:
    seen = []
    f = c(lambda x: x + 1)

    def step(i):
        r = f(torch.ones(2))
        seen.append(r)
        return len({id(s) for s in seen}), len({s.data_ptr() for s in seen})

    return step


@stepwise
def version_error(c: Compile) -> Step:
    f = c(lambda x: x * x)

    def step(i):
        x = torch.ones(3, requires_grad=True)
        y = x * 1
        z = f(y)
        y.add_(1)
        try:
            z.sum().backward()
            return x.grad
        except RuntimeError as e:
            return "modified" in str(e)

    return step


@stepwise
def twice_backward(c: Compile) -> Step:
    f = c(lambda x: (x * x.sin()).sum())

    def step(i):
        x = torch.ones(3, requires_grad=True)
        l = f(x)
        l.backward()
        try:
            l.backward()
            return "ok"
        except RuntimeError as e:
            return str(e)[:40]

    return step


@stepwise
def dict_out(c: Compile) -> Step:
    @c
    def f(x):
        return {"a": x * 2, "b": [x, (x + 1, None)], "n": 3}

    return lambda i: f(torch.ones(2) * i)


@stepwise
def kwargs_only(c: Compile) -> Step:
    @c
    def f(*a, k=1, **kw):
        return sum(a) * k + sum(kw.values())

    return lambda i: f(torch.ones(2), torch.ones(2), k=i, z=torch.ones(2) * i)


@stepwise
def dataclass_arg(c: Compile) -> Step:
    @dataclasses.dataclass
    class D:
        x: torch.Tensor
        n: int = 0

    @c
    def f(d):
        d.n += 1
        d.x = d.x * d.n
        return d.x

    d = D(torch.ones(2))
    return lambda i: (f(d), d.n)


@stepwise
def tensor_attr(c: Compile) -> Step:
    x = torch.ones(2)

    @c
    def f(t):
        t.count = getattr(t, "count", 0) + 1
        return t * t.count

    return lambda i: f(x)


@stepwise
def slices_assign(c: Compile) -> Step:
    @c
    def f(x, i):
        x = x.clone()
        x[i:] = x[: x.shape[0] - i] * 2
        return x

    return lambda i: f(torch.arange(5.0), i % 4 + 1)


@stepwise
def index_put_acc(c: Compile) -> Step:
    @c
    def f(x, ix):
        x = x.clone()
        x.index_put_((ix,), torch.ones(len(ix)), accumulate=True)
        return x

    return lambda i: f(torch.zeros(4), torch.tensor([i % 4, 1, 1]))


@stepwise
def nonzero_shape(c: Compile) -> Step:
    f = c(lambda x: x[x > i0[0]] * 2)
    i0 = [0]

    def step(i):
        i0[0] = i
        return f(torch.arange(6.0))

    return step


@stepwise
def while_loop(c: Compile) -> Step:
    @c
    def f(x):
        n = 0
        while x.norm() < 10:
            x = x * 1.5
            n += 1
        return x, n

    return lambda i: f(torch.ones(2) + i)


@stepwise
def recursion(c: Compile) -> Step:
    @c
    def f(x, n):
        return x if n == 0 else f(x * 2, n - 1)

    return lambda i: f(torch.ones(2), i)


@stepwise
def lambda_in_loop(c: Compile) -> Step:
    def step(i):
        fs = [c(lambda x, k=k: x * k) for k in range(3)]
        return [f(torch.ones(2)) for f in fs]

    return step


@stepwise
def saved_hooks(c: Compile) -> Step:
    log = []
    f = c(lambda x: (x.exp() * x).sum())

    def step(i):
        x = torch.ones(3, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(
            lambda t: (log.append("p"), t)[1], lambda t: (log.append("u"), t)[1]
        ):
            l = f(x)
        l.backward()
        return x.grad, len(log)

    return step


@stepwise
def default_dtype(c: Compile) -> Step:
    f = c(lambda: torch.ones(2) * 1.5)

    def step(i):
        torch.set_default_dtype(torch.float64 if i % 2 else torch.float32)
        try:
            return f().dtype
        finally:
            torch.set_default_dtype(torch.float32)

    return step


@stepwise
def flags_deterministic(c: Compile) -> Step:
    f = c(lambda x: x.sum() if torch.is_grad_enabled() else -x.sum())

    def step(i):
        with torch.set_grad_enabled(bool(i % 2)):
            return f(torch.ones(2))

    return step


@stepwise
def storage_resize(c: Compile) -> Step:
    x = torch.ones(4)
    f = c(lambda x: x * 2)

    def step(i):
        x.resize_(2 + i).fill_(i)
        return f(x)

    return step


@stepwise
def t_inplace_chain(c: Compile) -> Step:
    @c
    def f(x):
        x.t_()
        x.unsqueeze_(0)
        return x * 2

    return lambda i: f(torch.arange(6.0).reshape(2, 3))


@stepwise
def grad_accumulate(c: Compile) -> Step:
    x = torch.ones(3, requires_grad=True)
    f = c(lambda: (x * x).sum())

    def step(i):
        f().backward()
        g = x.grad
        return g.clone(), g is x.grad

    return step


@stepwise
def grad_set_none_mid(c: Compile) -> Step:
    x = torch.ones(3, requires_grad=True)

    @c
    def f():
        (x * 2).sum().backward()
        g = x.grad
        x.grad = None
        (x * 3).sum().backward()
        return g, x.grad

    return lambda i: f()


@stepwise
def detach_share(c: Compile) -> Step:
    @c
    def f(x):
        y = x.detach()
        y.add_(1)
        return x * 2

    x = torch.ones(3)
    return lambda i: f(x)


@stepwise
def nan_int_overflow(c: Compile) -> Step:
    f = c(lambda x: (x / 0, x // 1, (x * 1e30) ** 2))
    return lambda i: [t.isnan().any().item() for t in f(torch.arange(3.0) - 1)]


@stepwise
def scalar_types(c: Compile) -> Step:
    f = c(lambda x, s: x * s)
    return lambda i: f(torch.ones(2, dtype=torch.int32), [2, 2.5, True, 1 + 2j][i % 4])


@stepwise
def scalar_neg_zero(c: Compile) -> Step:
    f = c(lambda x, s: torch.copysign(x, s) * 1.0)
    return lambda i: f(torch.ones(2), [0.0, -0.0][i % 2])
