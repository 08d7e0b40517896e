"""What recurrent layers ask of inputs and states, for programs that derive layers of their own from them."""
from __future__ import annotations

from typing import Any


class StateChecks:
    """Checks of inputs and states, and the order of the states of packed sequences."""

    mode: str
    input_size: int
    hidden_size: int
    proj_size: int
    num_layers: int
    bidirectional: bool
    batch_first: bool

    def check_input(self, input: Any, batch_sizes: Any) -> None:
        """Raise unless an input, packed where there are batch sizes, has the right rank and last size."""
        rank = 3 if batch_sizes is None else 2
        if input.dim() != rank:
            raise RuntimeError(f"input must have {rank} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}")

    def _batch_of(self, input: Any, batch_sizes: Any) -> int:
        return int(batch_sizes[0]) if batch_sizes is not None else int(input.size(0 if self.batch_first else 1))

    def get_expected_hidden_size(self, input: Any, batch_sizes: Any) -> tuple[int, int, int]:
        """The shape of the hidden state for an input."""
        return (self.num_layers * (1 + self.bidirectional), self._batch_of(input, batch_sizes),
                self.proj_size or self.hidden_size)

    def get_expected_cell_size(self, input: Any, batch_sizes: Any) -> tuple[int, int, int]:
        """The shape of the cell state for an input."""
        return self.num_layers * (1 + self.bidirectional), self._batch_of(input, batch_sizes), self.hidden_size

    def check_hidden_size(self, hx: Any, expected_hidden_size: tuple[int, int, int],
                          msg: str = "Expected hidden size {}, got {}") -> None:
        """Raise unless a state has the given shape."""
        if tuple(hx.size()) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Any) -> None:
        """Raise unless an input and its states fit the layer."""
        self.check_input(input, batch_sizes)
        expected = self.get_expected_hidden_size(input, batch_sizes)
        if self.mode != "LSTM":
            self.check_hidden_size(hidden, expected)
            return
        self.check_hidden_size(hidden[0], expected, "Expected hidden[0] size {}, got {}")
        self.check_hidden_size(hidden[1], self.get_expected_cell_size(input, batch_sizes), "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx: Any, permutation: Any) -> Any:
        """The states in another order of the sequences."""
        if permutation is None:
            return hx
        if self.mode == "LSTM":
            return tuple([state.index_select(1, permutation) for state in hx])
        return hx.index_select(1, permutation)
