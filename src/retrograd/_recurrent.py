"""Recurrent networks as functions of their weights, `torch.lstm` and its like: what the modules of `nn` compute."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.core.api import overridable
from retrograd.core.schema import Schema

__all__ = ["gru", "lstm", "rnn_relu", "rnn_tanh"]

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


SETTINGS = "bool has_biases, int num_layers, float dropout, bool train, bool bidirectional"


def seen(state: str) -> Any:
    """Let subclasses and modes see calls of a function, and bind them: to padded data, or to packed data with batch sizes."""
    def decorate(function: Any) -> Any:
        name = function.__name__
        forms = [Schema(f"{name}.input(Tensor input, {state} hx, Tensor[] params, {SETTINGS}, bool batch_first) -> Tensor"),
                 Schema(f"{name}.data(Tensor data, Tensor batch_sizes, {state} hx, Tensor[] params, {SETTINGS}) -> Tensor")]
        return overridable(function, name, schemas=forms)
    return decorate


def run(kind: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A network of that kind on `(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)`, or,
    where the second is a tensor of batch sizes, on packed data."""
    packed = not is_params(args)
    values, sizes = args[0], args[1] if packed else None
    hx, params, has_biases, num_layers, dropout, train, bidirectional, *rest = args[1 + packed:]
    width, hidden = params[0].shape[1], params[0].shape[0] // GATES[kind]
    options = {**options, **({"proj_size": params[1].shape[1]} if params[1].shape[1] != hidden else {})}
    made: Any = getattr(torch.nn, kind)(width, hidden, num_layers, bias=has_biases, dropout=dropout, device="meta",
                                        bidirectional=bidirectional, batch_first=bool(rest and rest[0]),
                                        dtype=params[0].dtype, **options)
    made.train(train)
    names = dict(zip(made._flat_weights_names, params, strict=True))
    given = values if sizes is None else torch.nn.utils.rnn.PackedSequence(values, sizes)
    output, state = torch.func.functional_call(made, names, (given, tuple(hx) if kind == "LSTM" else hx))
    output = output if sizes is None else output.data
    return (output, *state) if isinstance(state, tuple) else (output, state)


def is_params(args: tuple[Any, ...]) -> bool:
    """Whether the third argument holds the weights, so that the second is a state."""
    return isinstance(args[2], (list, tuple)) and isinstance(args[3], bool)


@seen("Tensor[]")
def lstm(*args: Any) -> Any:
    """The outputs of an LSTM, its last hidden state and its last cell state."""
    return run("LSTM", args, {})


@seen("Tensor")
def gru(*args: Any) -> Any:
    """The outputs of a GRU and its last hidden state."""
    return run("GRU", args, {})


@seen("Tensor")
def rnn_tanh(*args: Any) -> Any:
    """The outputs of a recurrent network with tanh, and its last hidden state."""
    return run("RNN", args, {})


@seen("Tensor")
def rnn_relu(*args: Any) -> Any:
    """The outputs of a recurrent network with relu, and its last hidden state."""
    return run("RNN", args, {"nonlinearity": "relu"})
