"""An LSTM layer over all steps: one matrix product for the inputs, one for each step, and the gates in one pass. With
create_graph and in forward mode the recurrence is expressed by differentiable ops.
"""
from __future__ import annotations

from typing import Any

from retrograd.core.algorithms import native
from retrograd.core.dispatch import call
from retrograd.core.opdef import NOT_IMPLEMENTED, defop
from retrograd.core.storage import contiguous_strides
from retrograd.ops import late
from retrograd.ops.linalg.lapack import address_of
from retrograd.ops.memory.copy import meta_array
from retrograd.ops.shared import families
from retrograd.ops.shared.images import GEMM

LSTM = 2                      # mode number


# ---- over arrays
def parts(workspace: Any, steps: int, batch: int, hidden: int) -> tuple[Any, Any]:
    """The gates and the cells of all steps, which one array holds."""
    count = steps * batch * 4 * hidden
    return workspace[:count].reshape(steps, batch, 4 * hidden), workspace[count:].reshape(steps, batch, hidden)


def sigmoid(xp: Any, x: Any) -> Any:
    return 1 / (1 + xp.exp(-x))


def layer_kernel(xp: Any, input: Any, weight0: Any, weight1: Any, weight2: Any, weight3: Any, hx_: Any, cx_: Any, reverse: bool,
                 batch_sizes: Any, mode: int, hidden_size: int, num_layers: int, has_biases: bool, bidirectional: bool,
                 batch_first: bool, train: bool) -> Any:
    check_layer(input, mode)
    steps, batch, width = input.shape
    workspace = xp.empty(steps * batch * 5 * hidden_size, input.dtype)
    gates, cells = parts(workspace, steps, batch, hidden_size)
    x = input[::-1] if reverse else input
    flat = gates.reshape(steps * batch, 4 * hidden_size)
    multiply(xp, xp.ascontiguousarray(x).reshape(steps * batch, width), weight0.T, flat)
    if has_biases:
        flat += weight2 + weight3
    outputs = xp.empty((steps, batch, hidden_size), input.dtype)
    h, c, weight = (xp.ascontiguousarray(a) for a in (hx_, cx_, weight1.T))
    if native is None or native.lstm_forward(gates, h, c, weight, outputs, cells, address_of(GEMM[input.dtype.char])) is None:
        for t in range(steps):
            gate = gates[t]
            gate += h @ weight
            i, f, g, o = xp.split(gate, 4, 1)
            i[...], f[...], g[...], o[...] = sigmoid(xp, i), sigmoid(xp, f), xp.tanh(g), sigmoid(xp, o)
            cells[t] = f * c + i * g
            outputs[t] = o * xp.tanh(cells[t])
            h, c = outputs[t], cells[t]
    last = outputs[-1].copy(), cells[-1].copy()
    return (xp.ascontiguousarray(outputs[::-1]) if reverse else outputs), *last, workspace


def multiply(xp: Any, a: Any, b: Any, out: Any = None) -> Any:
    """A product of matrices, without the calls of the BLAS where none of them is large."""
    made = xp.empty((a.shape[0], b.shape[1]), a.dtype) if out is None else out
    if native is None or native.multiply_packed(a, b, made) is None:
        xp.matmul(a, b, out=made)
    return made


def check_layer(input: Any, mode: int) -> None:
    if mode != LSTM:
        raise RuntimeError(f"mkldnn_rnn_layer: only the mode of LSTM ({LSTM}) is supported, but got {mode}; the other "
                           "recurrent networks are made of other ops")
    if input.dtype.char not in GEMM:
        raise RuntimeError(f"mkldnn_rnn_layer: expected float32 or float64, but got {input.dtype}; .float() makes one of it")


def layer_backward_kernel(xp: Any, input: Any, weight1: Any, weight2: Any, weight3: Any, weight4: Any, hx_: Any, cx_tmp: Any,
                          output: Any, hy_: Any, cy_: Any, grad_output: Any, grad_hy: Any, grad_cy: Any, reverse: bool,
                          mode: int, hidden_size: int, num_layers: int, has_biases: bool, train: bool, bidirectional: bool,
                          batch_sizes: Any, batch_first: bool, workspace: Any) -> Any:
    steps, batch, width = input.shape
    n = hidden_size
    gates, cells = parts(workspace, steps, batch, n)
    state = (batch, n)
    grad = xp.zeros((steps, *state), input.dtype) if grad_output is None else grad_output[::-1] if reverse else grad_output
    dh, dc = (xp.zeros(state, input.dtype) if g is None else xp.array(g, order="C") for g in (grad_hy, grad_cy))
    c, weight, grad = (xp.ascontiguousarray(a) for a in (cx_tmp, weight2, grad))
    slopes = xp.empty_like(gates)
    if native is None or native.lstm_backward(gates, c, cells, weight, grad, dh, dc, slopes,
                                              address_of(GEMM[input.dtype.char])) is None:
        for t in range(steps - 1, -1, -1):
            i, f, g, o = xp.split(gates[t], 4, 1)
            dh = dh + grad[t]
            y = xp.tanh(cells[t])
            dc = dc + dh * o * (1 - y * y)
            before = cells[t - 1] if t else c
            slopes[t] = xp.concatenate([dc * g * i * (1 - i), dc * before * f * (1 - f), dc * i * (1 - g * g),
                                        dh * y * o * (1 - o)], 1)
            dc = dc * f
            dh = slopes[t] @ weight
    flat = slopes.reshape(steps * batch, 4 * n)
    x = xp.ascontiguousarray(input[::-1] if reverse else input).reshape(steps * batch, width)
    outputs = output[::-1] if reverse else output
    earlier = xp.concatenate([hx_[None], outputs[:-1]]).reshape(steps * batch, n)
    to_input = multiply(xp, flat, weight1).reshape(steps, batch, weight1.shape[1])
    to_input = xp.ascontiguousarray(to_input[::-1]) if reverse else to_input
    to_bias = flat.sum(0) if has_biases else xp.zeros(4 * n, input.dtype)
    return to_input, multiply(xp, flat.T, x), multiply(xp, flat.T, earlier), to_bias, to_bias.copy(), dh, dc


# ---- over tensors
def recurrence(input: Any, weight: Any, h: Any, c: Any, reverse: bool, added: Any) -> list[Any]:
    """For every step: its index, the gates, the cell states and the hidden states before and after it."""
    made = []
    places = range(input.shape[0])
    for t in reversed(places) if reverse else places:
        i, f, g, o = (added[t] + h.matmul(weight.t())).chunk(4, 1)
        i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
        after = f * c + i * g
        hidden = o * after.tanh()
        made.append((t, (i, f, g, o), c, after, h, hidden))
        h, c = hidden, after
    return made


def contribution(input: Any, weight0: Any, weight2: Any, weight3: Any, has_biases: bool) -> Any:
    """What the input contributes to the gates."""
    made = input.matmul(weight0.t())
    return made + (weight2 + weight3) if has_biases else made


def in_time(steps: list[Any]) -> Any:
    """Steps in the order of time."""
    return late.stack([value for _, value in sorted(steps, key=lambda pair: pair[0])], 0)


def layer_rule(grads: Any, input: Any, weight0: Any, weight1: Any, weight2: Any, weight3: Any, hx_: Any, cx_: Any,
               reverse: bool, batch_sizes: Any, mode: int, hidden_size: int, num_layers: int, has_biases: bool,
               bidirectional: bool, batch_first: bool, train: bool, result0: Any, result1: Any, result2: Any,
               result3: Any, needed: Any) -> Any:
    grad, grad_h, grad_c = grads[:3]
    if grad is None and grad_h is None and grad_c is None:
        return (None,) * 7
    if not families.is_watched():
        if not needed[0]:
            weight0 = weight0[:, :0]       # no columns: the gradient of the input is not computed
        return call(layer_backward, [input, weight0, weight1, weight2, weight3, hx_, cx_, result0, result1, result2, grad,
                                     grad_h, grad_c, reverse, mode, hidden_size, num_layers, has_biases, train, bidirectional,
                                     batch_sizes, batch_first, result3])
    dh = late.zeros_like(hx_) if grad_h is None else grad_h
    dc = late.zeros_like(cx_) if grad_c is None else grad_c
    steps = recurrence(input, weight1, hx_, cx_, reverse, contribution(input, weight0, weight2, weight3, has_biases))
    slopes, before = [], []
    for t, (i, f, g, o), c, after, h, _ in reversed(steps):
        dh = dh if grad is None else dh + grad[t]
        y = after.tanh()
        dc = dc + dh * o * (1 - y * y)
        slope = late.cat([dc * g * i * (1 - i), dc * c * f * (1 - f), dc * i * (1 - g * g), dh * y * o * (1 - o)], 1)
        slopes.append((t, slope))
        before.append((t, h))
        dc, dh = dc * f, slope.matmul(weight1)
    every = in_time(slopes)
    flat = every.reshape((-1, every.shape[-1]))
    to_bias = flat.sum(0) if has_biases else late.zeros_like(flat[0])
    return (every.matmul(weight0), flat.t().matmul(input.reshape((-1, input.shape[-1]))),
            flat.t().matmul(in_time(before).reshape((-1, hidden_size))), to_bias, to_bias, dh, dc)


def layer_tangent(input_p: Any, input_t: Any, weight0_p: Any, weight0_t: Any, weight1_p: Any, weight1_t: Any, weight2_p: Any,
                  weight2_t: Any, weight3_p: Any, weight3_t: Any, hx__p: Any, hx__t: Any, cx__p: Any, cx__t: Any, reverse: bool,
                  has_biases: bool) -> Any:
    steps = recurrence(input_p, weight1_p, hx__p, cx__p, reverse,
                       contribution(input_p, weight0_p, weight2_p, weight3_p, has_biases))
    added = input_t.matmul(weight0_p.t()) + input_p.matmul(weight0_t.t())
    added = added + (weight2_t + weight3_t) if has_biases else added
    dh, dc, made = hx__t, cx__t, []
    for t, (i, f, g, o), c, after, h, _ in steps:
        di, df, dg, do = (added[t] + dh.matmul(weight1_p.t()) + h.matmul(weight1_t.t())).chunk(4, 1)
        y = after.tanh()
        dc = df * f * (1 - f) * c + f * dc + di * i * (1 - i) * g + i * dg * (1 - g * g)
        dh = do * o * (1 - o) * y + o * (1 - y * y) * dc
        made.append((t, dh))
    return in_time(made), dh, dc, None


def layer_backward_shapes(xp: Any, *args: Any) -> Any:
    """Gradients have the shapes of the layer's input, weights and states."""
    shapes = [(*args[0].shape[:2], args[1].shape[1]), *[a.shape for a in args[1:7]]]
    return tuple([meta_array(s, contiguous_strides(s), a.dtype) for s, a in zip(shapes, args, strict=False)])


layer = defop(
    "mkldnn_rnn_layer(Tensor input, Tensor weight0, Tensor weight1, Tensor weight2, Tensor weight3, Tensor hx_, Tensor cx_, "
    "bool reverse, int[] batch_sizes, int mode, int hidden_size, int num_layers, bool has_biases, bool bidirectional, bool "
    "batch_first, bool train) -> (Tensor, Tensor, Tensor, Tensor)",
    kernel=layer_kernel, vjp={("input", "weight0", "weight1", "weight2", "weight3", "hx_", "cx_"): layer_rule},
    jvp=layer_tangent, batch=families.loop, constant=(3,), variants="function", out=False, node="MkldnnRnnLayerBackward0",
    real_only=True,
)
layer_backward = defop(
    "mkldnn_rnn_layer_backward(Tensor input, Tensor weight1, Tensor weight2, Tensor weight3, Tensor weight4, Tensor hx_, "
    "Tensor cx_tmp, Tensor output, Tensor hy_, Tensor cy_, Tensor? grad_output, Tensor? grad_hy, Tensor? grad_cy, "
    "bool reverse, int mode, int hidden_size, int num_layers, bool has_biases, bool train, bool bidirectional, "
    "int[] batch_sizes, bool batch_first, Tensor workspace) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
    kernel=layer_backward_kernel, meta=layer_backward_shapes, vjp=NOT_IMPLEMENTED, batch=families.loop, variants="function",
    out=False, real_only=True,
)
