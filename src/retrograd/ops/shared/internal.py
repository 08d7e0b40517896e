"""Internal ops of PyTorch that are others under a second name, and ops that check sizes, print or say what a backend takes."""
from __future__ import annotations

from typing import Any

from retrograd.core.opdef import defop
from retrograd.ops import late
from retrograd.ops.linalg import lu


def declare(schema: str, kernel: Any, variants: str = "function") -> None:
    defop(schema, kernel=kernel, composite=True, variants=variants, out=False)


def check_scalar(self: Any, assert_msg: str) -> None:
    if not self:
        raise RuntimeError(assert_msg)


def check_range(size: Any, min: int | None, max: int | None) -> None:
    """Raise unless a size is in a range, both ends included."""
    low, high = min if min is not None else 0, max
    if high is not None and high < low:
        raise ValueError(f"Invalid value range for {size} between [{low}, {high}].")
    if min is not None and size < min or high is not None and size > high:
        raise RuntimeError(f"Invalid value range for {size} between [{low}, {high if high is not None else 2 ** 63 - 1}].")


def check_size(size: Any, min: int | None, max: int | None) -> None:
    if min is not None and max is not None and max <= 2:
        raise ValueError(f"Max value to constrain_range_for_size must be greater than 2. got: {max}")
    check_range(size, min or 0, max)


def keep(token: Any, check: Any, *values: Any) -> Any:
    """The token of a check that passed."""
    check(*values)
    return token.clone()


declare("_assert_scalar(Scalar self, str assert_msg) -> ()", check_scalar)
declare("_functional_assert_scalar(Scalar self, str assert_msg, Tensor dep_token) -> Tensor",
        lambda self, assert_msg, dep_token: keep(dep_token, check_scalar, self, assert_msg))
declare("sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()", check_range)
declare("sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()", check_size)
declare("_functional_sym_constrain_range(Scalar size, int? min, int? max, Tensor dep_token) -> Tensor",
        lambda size, min, max, dep_token: keep(dep_token, check_range, size, min, max))
declare("_functional_sym_constrain_range_for_size(Scalar size, int? min, int? max, Tensor dep_token) -> Tensor",
        lambda size, min, max, dep_token: keep(dep_token, check_size, size, min, max))
declare("_make_dep_token(*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
        "MemoryFormat? memory_format=None) -> Tensor", lambda dtype, layout, device, pin_memory, memory_format: late.empty([]))
declare("_print(str s) -> ()", lambda s: print(s, end="", flush=True))
declare("cudnn_is_acceptable(Tensor self) -> bool", lambda self: False)
for backend in ("cudnn", "miopen"):
    for overload, lengths in (("", "int[]"), (".Tensor", "Tensor")):
        declare(f"_use_{backend}_ctc_loss{overload}(Tensor log_probs, Tensor targets, {lengths} input_lengths, "
                f"{lengths} target_lengths, int blank) -> bool",
                lambda log_probs, targets, input_lengths, target_lengths, blank: False)
declare("_use_cudnn_rnn_flatten_weight() -> bool", lambda: False)

declare("_reshape_from_tensor(Tensor self, Tensor shape) -> Tensor", lambda self, shape: self.reshape(shape.tolist()))
declare("_add_relu.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        lambda self, other, alpha: late.add(self, other, alpha=alpha).relu())
declare("_add_relu.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
        lambda self, other, alpha: late.add(self, other, alpha=alpha).relu())
declare("_add_relu_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
        lambda self, other, alpha: self.add_(other, alpha=alpha).relu_())
declare("_add_relu_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)",
        lambda self, other, alpha: self.add_(other, alpha=alpha).relu_())
declare("_test_check_tensor(Tensor self) -> Tensor", lambda self: self.clone())
declare("_lazy_clone(Tensor self) -> Tensor", lambda self: self.clone(), "function, method")
declare("_copy_from(Tensor self, Tensor dst, bool non_blocking=False) -> Tensor",
        lambda self, dst, non_blocking: dst.copy_(self, non_blocking))
declare("_logcumsumexp(Tensor self, int dim) -> Tensor", lambda self, dim: self.logcumsumexp(dim))
declare("_resize_output_(Tensor(a!) self, SymInt[] size, Device device) -> Tensor(a!)",
        lambda self, size, device: self.resize_(size))
declare("_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, "
        "bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> "
        "(Tensor, Tensor, Tensor, Tensor)", lambda *values: late._embedding_bag(*values))
declare("_grid_sampler_2d_cpu_fallback(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
        "bool align_corners) -> Tensor", lambda *values: late.grid_sampler_2d(*values))
declare("_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
        "Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
        lambda input, weight, bias, mean, var, momentum, eps: late.native_batch_norm(
            input, weight, bias, mean, var, False, momentum, eps))
declare("_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, Tensor info)",
        lambda self, pivot, check_errors: lu.linalg_lu_factor_ex(self, pivot=pivot, check_errors=check_errors))
declare("native_norm(Tensor self, Scalar p=2) -> Tensor",
        lambda self, p: (self.coalesce().values() if self.is_sparse else self).norm(p))
declare("_to_cpu(Tensor[] tensors) -> Tensor[]", lambda tensors: [tensor.cpu() for tensor in tensors])
declare("_reshape_alias_copy(Tensor self, SymInt[] size, SymInt[] stride) -> Tensor",
        lambda self, size, stride: late._reshape_alias(self, size, stride).clone())
declare("dequantize.self(Tensor self) -> Tensor", lambda self: self.float(), "function, method")
declare("dequantize.tensors(Tensor[] tensors) -> Tensor[]", lambda tensors: [tensor.float() for tensor in tensors])
