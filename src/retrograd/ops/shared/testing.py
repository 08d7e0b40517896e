"""Ops that exist only for tests of the op machinery, as in PyTorch."""
from __future__ import annotations

import warnings
from typing import Any

from retrograd.core.opdef import defop
from retrograd.ops.shared import families
from retrograd.ops.views.copies import add_copy


def warn_and_pass(grad: Any) -> Any:
    warnings.warn("Warn from backward", UserWarning, stacklevel=2)
    return grad


# The gradient is wrong on purpose: it shows which formula ran (other devices have other ones).
defop("_test_autograd_multiple_dispatch.fullcoverage(Tensor self) -> Tensor",
      kernel=lambda xp, self: self.copy(), vjp=dict(self=lambda grad, self_sym_sizes: grad.expand(self_sym_sizes) + 1),
      jvp="linear", batch=families.pointwise, variants="function", real_only=True)
defop("_test_autograd_multiple_dispatch.ntonly(Tensor self, bool b) -> Tensor",
      kernel=lambda self, b: self.clone(), composite=True, variants="function", out=False)
add_copy(defop(
    "_test_autograd_multiple_dispatch_view(Tensor(a) self) -> Tensor(a)",
    kernel=lambda xp, self: self.reshape(-1), vjp=dict(self=lambda grad, self_sym_sizes: grad.reshape(self_sym_sizes)),
    jvp="linear", batch=families.loop, variants="function", real_only=True))
_test_warn_in_autograd = defop(
    "_test_warn_in_autograd(Tensor self) -> Tensor",
    kernel=lambda xp, self: self.copy(), vjp=dict(self=warn_and_pass), jvp="linear", batch=families.pointwise, variants="",
    real_only=True, elementwise=False)        # it is elementwise, but then its warning rule would run in advance
# Under vmap it runs example by example, with a warning.
defop("_test_functorch_fallback(Tensor self, Tensor other) -> Tensor", kernel=lambda xp, self, other: self.copy(),
      batch=families.loop_and_warn, variants="function", real_only=True, out=False)
defop("_foobar(Tensor self, bool arg1=True, bool arg2=True, *, bool arg3=True) -> Tensor",
      kernel=lambda xp, self, arg1, arg2, arg3: self.copy(), batch=families.pointwise, variants="", real_only=True, out=False)
