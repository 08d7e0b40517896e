"""Trains an LSTM to add the two marked numbers of a sequence, over sequences of different lengths.

An ordinary PyTorch program: `retrograd run examples/lstm.py`.
"""
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence


def sequences(count, shortest, longest):
    """Sequences of (number, mark): two marks in each, and the sum of the marked numbers."""
    made, sums = [], []
    for length in torch.randint(shortest, longest + 1, (count,)).tolist():
        numbers, marks = torch.rand(length), torch.zeros(length)
        marks[torch.randperm(length)[:2]] = 1.0
        made.append(torch.stack([numbers, marks], dim=1))
        sums.append((numbers * marks).sum())
    lengths = torch.tensor([len(s) for s in made])
    return pack_padded_sequence(pad_sequence(made), lengths, enforce_sorted=False), torch.stack(sums)


class Adder(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(2, 32, num_layers=2)
        self.head = nn.Linear(32, 1)

    def forward(self, packed):
        _, (hidden, _) = self.lstm(packed)
        return self.head(hidden[-1]).squeeze(1)


def main(steps=500, longest=12):
    """Train, and return every tenth loss and the error on new sequences."""
    torch.manual_seed(0)
    model = Adder()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    losses = []
    for step in range(steps):
        packed, sums = sequences(32, 4, longest)
        loss = nn.functional.mse_loss(model(packed), sums)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if step % 50 == 0:
            print(f"step {step:3}: loss {losses[-1]:.4f}")
    with torch.no_grad():
        packed, sums = sequences(200, 4, longest)
        error = (model(packed) - sums).abs().mean().item()
    print(f"mean error on new sequences: {error:.3f}")
    return [*losses[::10], error]


if __name__ == "__main__":
    main()
