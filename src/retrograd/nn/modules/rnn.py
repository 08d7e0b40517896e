"""Recurrent networks: RNN, LSTM and GRU over sequences, and their single cells."""
from __future__ import annotations

import functools
import math
import warnings
from typing import Any

import retrograd as torch
from retrograd import Tensor
from retrograd.nn import functional as F
from retrograd.nn import init
from retrograd.nn.modules._rnn_checks import StateChecks
from retrograd.nn.modules.module import Module
from retrograd.nn.parameter import Parameter
from retrograd.nn.utils.rnn import PackedSequence


# ---- one step, given what the input contributes to the gates
def simple_step(nonlinearity: Any) -> Any:
    def step(inputs: Any, hidden: Any, weight: Any, bias: Any, projection: Any) -> Any:
        made = nonlinearity(F.linear(hidden[0], weight, bias).add(inputs))
        return (made,)
    return step


def lstm_step(inputs: Any, hidden: Any, weight: Any, bias: Any, projection: Any) -> Any:
    h, c = hidden
    i, f, g, o = F.linear(h, weight, bias).add(inputs).unsafe_chunk(4, 1)
    c = f.sigmoid().mul(c).add_(i.sigmoid().mul(g.tanh()))
    h = o.sigmoid().mul(c.tanh())
    return (h if projection is None else F.linear(h, projection)), c


def gru_step(inputs: Any, hidden: Any, weight: Any, bias: Any, projection: Any) -> Any:
    h = hidden[0]
    from_input, from_hidden = inputs.unsafe_chunk(3, 1), F.linear(h, weight, bias).unsafe_chunk(3, 1)
    reset = from_hidden[0].add(from_input[0]).sigmoid()
    keep = from_hidden[1].add(from_input[1]).sigmoid()
    new = from_input[2].add(from_hidden[2].mul(reset)).tanh()
    return ((h - new).mul_(keep).add_(new),)


def is_expanded(weight: Any) -> bool:
    """Whether a weight collects the gradient of every example (`nn.utils._expanded_weights`)."""
    return hasattr(weight, "orig_weight")


STEPS = {"RNN_TANH": simple_step(torch.tanh), "RNN_RELU": simple_step(torch.relu), "LSTM": lstm_step, "GRU": gru_step}
GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "LSTM": 4, "GRU": 3}


class RNNBase(StateChecks, Module):
    """What the recurrent networks share: layers, directions, and their weights.

    >>> import retrograd as torch
    >>> isinstance(torch.nn.LSTM(2, 3), torch.nn.RNNBase)
    True
    """

    __constants__ = ["mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional",
                     "proj_size"]

    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
                 device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        if not isinstance(dropout, (int, float)) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being "
                             "zeroed")
        if dropout > 0 and num_layers == 1:
            warnings.warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                          f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}", stacklevel=3)
        if not isinstance(input_size, int):
            raise TypeError(f"input_size should be of type int, got: {type(input_size).__name__}")
        if input_size <= 0:
            raise ValueError("input_size must be greater than zero")
        if not isinstance(hidden_size, int):
            raise TypeError(f"hidden_size should be of type int, got: {type(hidden_size).__name__}")
        if hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        for name, flag in (("bias", bias), ("batch_first", batch_first)):
            if not isinstance(flag, bool):
                raise TypeError(f"{name} should be of type bool, got: {type(flag).__name__}")
        if num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if mode not in GATES:
            raise ValueError(f"Unrecognized RNN mode: {mode}")
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        place = {"device": device, "dtype": dtype}
        rows, real = GATES[mode] * hidden_size, proj_size or hidden_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            width = input_size if layer == 0 else real * (1 + bidirectional)
            for direction in range(1 + bidirectional):
                end = f"_l{layer}{'_reverse' if direction else ''}"
                shapes: dict[str, tuple[int, ...]] = {"weight_ih" + end: (rows, width), "weight_hh" + end: (rows, real)}
                if bias:
                    shapes.update({"bias_ih" + end: (rows,), "bias_hh" + end: (rows,)})
                if proj_size:
                    shapes["weight_hr" + end] = (proj_size, hidden_size)
                for name, shape in shapes.items():
                    self.register_parameter(name, Parameter(torch.empty(shape, **place)))
                self._all_weights.append(list(shapes))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        """Only a matter of speed on other devices."""

    @property
    def all_weights(self) -> list[list[Any]]:
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name) for name in self._flat_weights_names]

    def __getstate__(self) -> dict[str, Any]:
        # PyTorch keeps these lists in the object, so a pickle that it can read has them
        return {**self.__dict__, "_flat_weights_names": self._flat_weights_names, "_flat_weights": self._flat_weights}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = {name: value for name, value in state.items() if not name.startswith("_flat_weight")}
        if "all_weights" in state:              # its name in old files
            state["_all_weights"] = state.pop("all_weights")
        state.setdefault("proj_size", 0)
        super().__setstate__(state)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        for name, usual in (("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0.0),
                            ("bidirectional", False)):
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)}"
        return text

    def _sizes(self) -> tuple[int, ...]:
        """The last sizes of the states: the hidden one's, and for LSTM the cell's."""
        return (self.proj_size or self.hidden_size, self.hidden_size) if self.mode == "LSTM" else (self.hidden_size,)

    def _run(self, input: Any, states: tuple[Any, ...] | None) -> tuple[Any, tuple[Any, ...]]:
        if isinstance(input, PackedSequence):
            return self._run_packed(input, states)
        if input.dim() not in (2, 3):
            kind = "D" if self.mode in ("LSTM", "GRU") else "D tensor"
            raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}{kind} instead")
        self._check_dtype(input)
        if input.size(-1) != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}")
        batched = input.dim() == 3
        sequence_dim = 1 if self.batch_first and batched else 0
        values = input if batched else input.unsqueeze(1)
        values = values.transpose(0, 1) if sequence_dim == 1 else values
        if states is not None:
            self._check_ranks(batched, states)
            states = states if batched else tuple([state.unsqueeze(1) for state in states])
        values, finals = self._counted_layers(values, states, values.size(1), None)
        batch_dim = 1
        if self.batch_first and self.mode != "LSTM":       # as PyTorch, whose LSTM alone returns a view of its kernel's result
            values, batch_dim = values.transpose_(0, 1), 0
        elif sequence_dim == 1:
            values = values.transpose(0, 1)
        if not batched:
            return values.squeeze(batch_dim), tuple([f.squeeze(1) for f in finals])
        return values, finals

    def _check_dtype(self, input: Any) -> None:
        """Refuse input of another dtype than the weights', unless autocast makes them one."""
        dtype = self._flat_weights[0].dtype
        if input.dtype != dtype and not torch.is_autocast_enabled("cpu"):
            raise ValueError(f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). Convert input: "
                             f"input.to({dtype}), or convert model: model.to({input.dtype})")

    def _check_ranks(self, batched: bool, states: tuple[Any, ...]) -> None:
        wanted, kind = (3, "batched") if batched else (2, "unbatched")
        ranks = [state.dim() for state in states]
        if any([rank != wanted for rank in ranks]):
            names, found = ("hx and cx", f"({ranks[0]}-D, {ranks[-1]}-D) tensors") if len(states) == 2 else (
                "hx", f"{ranks[0]}-D tensor")
            raise RuntimeError(f"For {kind} {wanted}-D input, {names} should also be {wanted}-D but got {found}")

    def _run_packed(self, input: PackedSequence, states: tuple[Any, ...] | None) -> tuple[Any, tuple[Any, ...]]:
        data, batch_sizes, order, back = input
        if data.size(-1) != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {data.size(-1)}")
        if states is not None and order is not None:
            states = tuple([state.index_select(1, order) for state in states])
        sizes = batch_sizes.tolist()
        values, finals = self._counted_layers(data, states, sizes[0], sizes)
        if back is not None:
            finals = tuple([f.index_select(1, back) for f in finals])
        return PackedSequence(values, batch_sizes, order, back), finals

    def _counted_layers(self, values: Any, states: tuple[Any, ...] | None, batch: int,
                        sizes: list[int] | None) -> tuple[Any, tuple[Any, ...]]:
        """`_layers`, where expanded weights are told to find the examples in front, in packed steps fewer and fewer."""
        expanded = [w for weights in self.all_weights for w in weights if is_expanded(w)]
        before = [(w.batch_first, w.allow_smaller_batches) for w in expanded]
        for w in expanded:
            w.set_batch_first(True)
            w.set_allow_smaller_batches(sizes is not None)
        try:
            return self._layers(values, states, batch, sizes)
        finally:
            for w, (first, smaller) in zip(expanded, before, strict=True):
                w.set_batch_first(first)
                w.set_allow_smaller_batches(smaller)

    def _layers(self, values: Any, states: tuple[Any, ...] | None, batch: int,
                sizes: list[int] | None) -> tuple[Any, tuple[Any, ...]]:
        """All layers, over steps or over packed steps of the given sizes."""
        if not values.shape[0]:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        directions = 1 + self.bidirectional
        if states is None:
            states = tuple([torch.zeros(self.num_layers * directions, batch, size, dtype=values.dtype, device=values.device)
                            for size in self._sizes()])
        for i, (state, size) in enumerate(zip(states, self._sizes(), strict=True)):
            expected = (self.num_layers * directions, batch, size)
            if tuple(state.size()) != expected:
                which = f"[{i}]" if self.mode == "LSTM" else ""
                raise RuntimeError(f"Expected hidden{which} size {expected}, got {list(state.size())}")
        last: list[list[Any]] = [[] for _ in states]
        run = self._layer if sizes is None else functools.partial(self._packed_layer, sizes)
        for layer in range(self.num_layers):
            made = []
            for direction in range(directions):
                number = layer * directions + direction
                output, final = run(values, tuple([s[number] for s in states]), self.all_weights[number], direction == 1)
                made.append(output)
                for kept, state in zip(last, final, strict=True):
                    kept.append(state)
            values = made[0] if directions == 1 else torch.cat(made, -1)
            if self.dropout and self.training and layer < self.num_layers - 1:
                values = F.dropout(values, self.dropout, True)
        return values, tuple([torch.stack(kept, 0) for kept in last])

    def _packed_layer(self, sizes: list[int], values: Any, states: tuple[Any, ...], weights: list[Any],
                      backwards: bool) -> tuple[Any, tuple[Any, ...]]:
        """One layer over packed steps: sequences leave when they are over, or backwards enter where they end."""
        bias_ih, bias_hh = (weights[2], weights[3]) if self.bias else (None, None)
        projection = weights[-1] if self.proj_size else None
        if is_expanded(weights[0]):
            gates = [F.linear(step, weights[0], bias_ih) for step in values.split(sizes)]
        else:
            gates = F.linear(values, weights[0], bias_ih).split(sizes)
        outputs, first = [], states
        over: list[tuple[Any, ...]] = []
        if backwards:
            states = tuple([s[:sizes[-1]] for s in first])
        for t in reversed(range(len(sizes))) if backwards else range(len(sizes)):
            now = states[0].size(0)
            if sizes[t] < now:
                over.append(tuple([s[sizes[t]:] for s in states]))
                states = tuple([s[:sizes[t]] for s in states])
            elif sizes[t] > now:
                states = tuple([torch.cat([s, f[now:sizes[t]]]) for s, f in zip(states, first, strict=True)])
            states = STEPS[self.mode](gates[t], states, weights[1], bias_hh, projection)
            outputs.append(states[0])
        if backwards:
            outputs.reverse()
        elif over:
            states = tuple([torch.cat(parts) for parts in zip(states, *reversed(over), strict=True)])
        return torch.cat(outputs), states

    def _layer(self, values: Any, states: tuple[Any, ...], weights: list[Any], backwards: bool) -> tuple[Any, tuple[Any, ...]]:
        """One layer in one direction; the input's part of the gates is computed for all steps at once."""
        whole = self.mode == "LSTM" and not self.proj_size and values.numel() and values.device.type == "cpu"
        if whole and weights[0].dtype == torch.float32 and torch.is_autocast_enabled("cpu"):
            low = torch.get_autocast_dtype("cpu")             # as for one op: states, too, get the lower precision
            values, states, weights = values.to(low), tuple([s.to(low) for s in states]), [w.to(low) for w in weights]
        bias_ih, bias_hh = (weights[2], weights[3]) if self.bias else (None, None)
        projection = weights[-1] if self.proj_size else None
        if whole and all([t.dtype == torch.float32 for t in (values, *states, *weights)]):
            none = torch.zeros(0)
            made = torch.mkldnn_rnn_layer(values, weights[0], weights[1], none if bias_ih is None else bias_ih,
                                          none if bias_hh is None else bias_hh, *states, backwards, [], 2, self.hidden_size,
                                          self.num_layers, self.bias, self.bidirectional, False, self.training)
            return made[0], made[1:3]
        if is_expanded(weights[0]):
            gates = F.linear(values.transpose(0, 1), weights[0], bias_ih).unbind(1)
        else:
            gates = F.linear(values, weights[0], bias_ih).unbind(0)
        outputs = []
        for inputs in reversed(gates) if backwards else gates:
            states = STEPS[self.mode](inputs, states, weights[1], bias_hh, projection)
            outputs.append(states[0])
        if backwards:
            outputs.reverse()
        return torch.stack(outputs, 0), states


class RNN(RNNBase):
    """The simple recurrent network: h = tanh(W x + b + U h + c).

    >>> import retrograd as torch
    >>> out, last = torch.nn.RNN(input_size=2, hidden_size=3)(torch.ones(5, 1, 2))
    >>> out.shape, torch.equal(out[-1], last[0])
    (torch.Size([5, 1, 3]), True)
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, device: Any = None,
                 dtype: Any = None, *, proj_size: Any = None) -> None:
        refuse_projection(proj_size)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        self.nonlinearity = nonlinearity
        super().__init__(f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias, batch_first, dropout,
                         bidirectional, 0, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> Any:
        output, finals = self._run(input, None if hx is None else (hx,))
        return output, finals[0]


def refuse_projection(proj_size: Any) -> None:
    if proj_size is not None:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class GRU(RNNBase):
    """The gated recurrent unit.

    >>> import retrograd as torch
    >>> out, last = torch.nn.GRU(2, 3, num_layers=2, batch_first=True)(torch.ones(4, 5, 2))
    >>> out.shape, last.shape
    (torch.Size([4, 5, 3]), torch.Size([2, 4, 3]))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
                 dropout: float = 0.0, bidirectional: bool = False, device: Any = None, dtype: Any = None, *,
                 proj_size: Any = None) -> None:
        refuse_projection(proj_size)
        super().__init__("GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device,
                         dtype)

    def forward(self, input: Any, hx: Any = None) -> Any:
        output, finals = self._run(input, None if hx is None else (hx,))
        return output, finals[0]


class LSTM(RNNBase):
    """Long short-term memory.

    >>> from retrograd import nn, ones
    >>> output, (h, c) = nn.LSTM(2, 3)(ones(5, 1, 2))
    >>> output.shape, h.shape, c.shape
    (torch.Size([5, 1, 3]), torch.Size([1, 1, 3]), torch.Size([1, 1, 3]))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
                 dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__("LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size,
                         device,
                         dtype)

    def forward(self, input: Any, hx: Any = None) -> Any:
        return self._run(input, hx)


# ---- cells
class RNNCellBase(Module):
    """What the cells share.

    >>> import retrograd as torch
    >>> isinstance(torch.nn.GRUCell(2, 3), torch.nn.RNNCellBase)
    True
    """

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        place = {"device": device, "dtype": dtype}
        self.weight_ih = Parameter(torch.empty((num_chunks * hidden_size, input_size), **place))
        self.weight_hh = Parameter(torch.empty((num_chunks * hidden_size, hidden_size), **place))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(torch.empty(num_chunks * hidden_size, **place)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        return text + (f", nonlinearity={nonlinearity}" if nonlinearity != "tanh" else "")

    def _check_states(self, input: Any, states: tuple[Tensor, ...]) -> None:
        if input.size(1) != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)} expected {self.input_size}")
        for i, state in enumerate(states):
            if state.size(0) != input.size(0):
                raise RuntimeError(f"Input batch size {input.size(0)} doesn't match hidden{i} batch size {state.size(0)}")
            if state.size(1) != self.hidden_size:
                raise RuntimeError(f"hidden{i} has inconsistent hidden_size: got {state.size(1)}, expected {self.hidden_size}")

    def _step(self, mode: str, input: Any, states: tuple[Tensor, ...] | None) -> tuple[Any, ...]:
        if input.dim() not in (1, 2):
            raise ValueError(f"{self._get_name()}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for i, state in enumerate(states or ()):
            if state.dim() not in (1, 2):
                name = f"hx[{i}]" if mode == "LSTM" else "hidden"
                raise ValueError(f"{self._get_name()}: Expected {name} to be 1D or 2D, got {state.dim()}D instead")
        batched = input.dim() == 2
        values = input if batched else input.unsqueeze(0)
        if states is None:
            zeros = torch.zeros(values.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
            states = (zeros,) * (1 + (mode == "LSTM"))
        elif not batched:
            states = tuple([state.unsqueeze(0) for state in states])
        self._check_states(values, states)
        made = STEPS[mode](F.linear(values, self.weight_ih, self.bias_ih), states, self.weight_hh, self.bias_hh, None)
        return made if batched else tuple([m.squeeze(0) for m in made])


class RNNCell(RNNCellBase):
    """One step of the simple recurrent network.

    >>> import retrograd as torch
    >>> cell, hidden = torch.nn.RNNCell(2, 3), torch.zeros(1, 3)
    >>> for step in torch.ones(5, 1, 2):
    ...     hidden = cell(step, hidden)
    >>> hidden.shape
    torch.Size([1, 3])
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Any = None) -> Any:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(f"RNN_{self.nonlinearity.upper()}", input, None if hx is None else (hx,))[0]


class LSTMCell(RNNCellBase):
    """One step of long short-term memory.

    >>> import retrograd as torch
    >>> hidden, memory = torch.nn.LSTMCell(2, 3)(torch.ones(1, 2))
    >>> hidden.shape, memory.shape
    (torch.Size([1, 3]), torch.Size([1, 3]))
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> Any:
        return self._step("LSTM", input, hx)


class GRUCell(RNNCellBase):
    """One step of the gated recurrent unit.

    >>> import retrograd as torch
    >>> torch.nn.GRUCell(2, 3)(torch.ones(1, 2), torch.zeros(1, 3)).shape
    torch.Size([1, 3])
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> Any:
        return self._step("GRU", input, None if hx is None else (hx,))[0]
