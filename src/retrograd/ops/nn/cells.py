"""Single steps of recurrent layers, as compositions of products and gates."""
from __future__ import annotations

from typing import Any

from retrograd.core.opdef import defop
from retrograd.ops import late

REST = "Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None)"


def affine(x: Any, weight: Any, bias: Any) -> Any:
    return late.linear(x, weight, bias)


def lstm_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> tuple[Any, Any]:
    """The next hidden and cell state."""
    if len(hx) != 2:
        raise RuntimeError(f"lstm_cell expects two hidden states, got {len(hx)}")
    h, c = hx
    gate, forget, cell, out = (affine(input, w_ih, b_ih) + affine(h, w_hh, b_hh)).chunk(4, -1)
    c = (forget.sigmoid() * c).add_(gate.sigmoid() * cell.tanh())
    return out.sigmoid() * c.tanh(), c


def gru_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
    """The next hidden state."""
    reset, update, new = affine(input, w_ih, b_ih).chunk(3, -1)
    reset_h, update_h, new_h = affine(hx, w_hh, b_hh).chunk(3, -1)
    new = (new + (reset + reset_h).sigmoid() * new_h).tanh()
    return (hx - new).mul_((update + update_h).sigmoid()).add_(new)


def simple_cell(nonlinearity: str) -> Any:
    def cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
        return getattr(late, nonlinearity)(affine(input, w_ih, b_ih) + affine(hx, w_hh, b_hh))
    return cell


defop(f"lstm_cell(Tensor input, Tensor[] hx, {REST} -> (Tensor, Tensor)", kernel=lstm_cell, composite=True, out=False,
      variants="function")
defop(f"gru_cell(Tensor input, Tensor hx, {REST} -> Tensor", kernel=gru_cell, composite=True, out=False, variants="function")
for name in ("tanh", "relu"):
    defop(f"rnn_{name}_cell(Tensor input, Tensor hx, {REST} -> Tensor", kernel=simple_cell(name), composite=True, out=False,
          variants="function")


# ---- assertions on tensor values
def check_nonzero(self: Any, message: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    if not bool(self):
        raise RuntimeError(message)


def checked_token(self: Any, assert_msg: str, dep_token: Any) -> Any:
    check_nonzero(self, assert_msg)
    return dep_token.clone()


defop("_assert_async(Tensor self) -> ()", kernel=check_nonzero, composite=True, out=False, variants="function")
defop("_assert_async.msg(Tensor self, str assert_msg) -> ()", kernel=check_nonzero, composite=True, out=False,
      variants="function")
defop("_functional_assert_async.msg(Tensor self, str assert_msg, Tensor dep_token) -> Tensor", kernel=checked_token,
      composite=True, out=False, variants="function")
