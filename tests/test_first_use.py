"""What a program does first works: every piece here runs in a process that has imported retrograd and nothing else of it.

Tables are loaded when a name of theirs is first used (NOTE [Names bound on first use] in core/api.py), and the rest of
the tests load them all.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

# Each starts with x, a leaf of four elements, and leaves its gradient, or fails.
PIECES = {
    "a slice written to": "y = x * 2; y[1:3].mul_(3.0); y.sum().backward()",
    "an element written to": "y = x * 2; y[0] = x[1]; y.sum().backward()",
    "a mask written to": "y = x * 2; y[y > 3] = 0.0; y.sum().backward()",
    "a view of a view written to": "y = x * 2; y.view(2, 2)[0].add_(x[:2]); y.sum().backward()",
    "a base written to": "y = x * 2; v = y[1:]; y.mul_(2); v.sum().backward()",
    "a transposed product": "m = x.view(2, 2); (m @ m.t()).sum().backward()",
    "a gradient of a gradient": "g, = torch.autograd.grad((x ** 3).sum(), x, create_graph=True); g.sum().backward()",
    "hooks": "y = x.exp(); y.register_hook(lambda g: g * 2); y.retain_grad(); y.sum().backward()",
    "a checkpoint": "torch.utils.checkpoint.checkpoint(lambda t: t.sin(), x, use_reentrant=False).sum().backward()",
    "a saved tensor on its way": """
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(force=True), torch.from_numpy):
            y = x.detach().requires_grad_().exp() * x
        y.sum().backward()""",
    "a custom Function": """
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, t):
                ctx.save_for_backward(t)
                return t * 2
            @staticmethod
            def backward(ctx, g):
                return g * 2
        Double.apply(x).sum().backward()""",
    "forward mode": """
        with torch.autograd.forward_ad.dual_level():
            d = torch.autograd.forward_ad.make_dual(x.detach(), torch.ones(4))
            d[1:3].mul_(2.0)
            x.grad = torch.autograd.forward_ad.unpack_dual(d.sin().cumsum(0)).tangent""",
    "func.grad": "x.grad = torch.func.grad(lambda t: t.sin().sum())(x.detach())",
    "vmap": "torch.vmap(lambda t: t * t.relu())(x).sum().backward()",
    "a Jacobian": "torch.autograd.functional.jacobian(torch.exp, x, create_graph=True).sum().backward()",
    "anomaly mode": """
        import warnings
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly(): (x.sqrt() * x.norm()).sum().backward()""",
    "a layer and an optimizer": """
        layer = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
        optimizer = torch.optim.Adam(layer.parameters())
        layer(x).sum().backward(); optimizer.step()""",
    "indices": "x[torch.tensor([0, 0, 3])].sum().backward()",
    "joining and splitting": "torch.cat([*x.split(2), torch.stack(x.unbind())]).sum().backward()",
    "an embedding": """
        torch.nn.functional.embedding(torch.tensor([1]), x.view(2, 2)).sum().backward()""",
    "half precision": "(x.half() * 2).float().sum().backward()",
    "complex numbers": "torch.view_as_real(torch.complex(x, x).exp()).sum().backward()",
    "a copy": "import copy; copy.deepcopy(x); x.clone().contiguous().sum().backward()",
    "printing": "repr(x * 2); str(x.grad_fn); x.sum().backward()",
    "numbers at random": "(x * torch.rand(4) + torch.randn_like(x)).sum().backward()",
    "einsum": "torch.einsum('i,i->', x, x).backward()",
    "norms and determinants": "(torch.linalg.norm(x) + torch.linalg.det(x.view(2, 2))).backward()",
    "fft": "torch.fft.fft(x).abs().sum().backward()",
    "a loss": "torch.nn.functional.cross_entropy(x.view(2, 2), torch.tensor([0, 1])).backward()",
}

DRIVER = """
import os, sys, traceback
import retrograd as torch
failed = 0
for name, piece in PIECES.items():
    child = os.fork()
    if child == 0:
        try:
            x = torch.tensor([1.0, 2.0, 0.5, 3.0], requires_grad=True)
            exec(piece, dict(torch=torch, x=x))
            assert x.grad is not None and x.grad.shape == (4,)
        except BaseException:
            print(name, file=sys.stderr)
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
    failed += os.waitpid(child, 0)[1] != 0
sys.exit(failed)
"""


def test_nothing_depends_on_what_was_used_before() -> None:
    pieces = {name: textwrap.dedent(piece) for name, piece in PIECES.items()}
    run = subprocess.run([sys.executable, "-c", f"PIECES = {pieces!r}\n{DRIVER}"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_every_public_name_does_first_what_it_does_later(tmp_path: Path) -> None:
    """Half of some 1,600 functions, methods and constructors (first_use.py), each as the first act of a process."""
    root = Path(__file__).parents[1]
    bytecode = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tmp_path)}      # every process imports the same again
    paths = {"PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])}
    run = subprocess.run([sys.executable, "-m", "tests.first_use"], cwd=root, env={**os.environ, **bytecode, **paths},
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["different"] == {}
    assert found["calls"] > 650 and len(found["refused"]) < 130
