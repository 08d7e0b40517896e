"""Trains a character-level transformer on eight sonnets, draws its loss and writes verses of its own.

An ordinary PyTorch program. `retrograd run examples/char_transformer.py` runs it as it stands, without PyTorch.
"""
import json
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

HERE = Path(__file__).resolve().parent
CONTEXT = 64        # characters that the model sees at once
WIDTH = 64
HEADS = 4
LAYERS = 2
BATCH = 16


class Block(nn.Module):
    """One layer of the transformer: attention to earlier characters, then a network of its own for each place."""

    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.project = nn.Linear(WIDTH, 3 * WIDTH)
        self.mix = nn.Linear(WIDTH, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.network = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        batch, length, _ = x.shape
        parts = self.project(self.norm1(x)).split(WIDTH, dim=2)
        query, key, value = [part.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2) for part in parts]
        seen = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.mix(seen.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.network(self.norm2(x))


class CharTransformer(nn.Module):
    """Predicts every next character of a text from the ones before it."""

    def __init__(self, characters):
        super().__init__()
        self.character = nn.Embedding(characters, WIDTH)
        self.place = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, characters)
        for p in self.parameters():
            if p.dim() == 2:
                nn.init.normal_(p, std=0.05)

    def forward(self, codes):
        x = self.character(codes) + self.place(torch.arange(codes.shape[1]))
        return self.head(self.norm(self.blocks(x)))

    @torch.no_grad()
    def write(self, codes, count):
        """Continue a text by `count` characters, drawn from the model's predictions."""
        for _ in range(count):
            scores = self(codes[:, -CONTEXT:])[:, -1] / 0.5
            codes = torch.cat([codes, torch.multinomial(scores.softmax(-1), 1)], dim=1)
        return codes


def progress(steps):
    """Count from 0 to `steps` behind a progress bar."""
    try:
        from tqdm import tqdm
    except ImportError:
        return range(steps)
    return tqdm(range(steps), desc="training", ncols=80, disable=not sys.stderr.isatty())


def train(steps):
    """Return the model, its alphabet and the loss at every step."""
    torch.manual_seed(0)
    text = (HERE / "sonnets.txt").read_text()
    alphabet = sorted(set(text))
    data = torch.tensor([alphabet.index(c) for c in text])
    model = CharTransformer(len(alphabet))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=max(steps, 100))
    losses = []
    for _ in progress(steps):
        starts = torch.randint(0, len(data) - CONTEXT, (BATCH,))
        pieces = torch.stack([data[s:s + CONTEXT + 1] for s in starts])
        scores = model(pieces[:, :-1])
        loss = F.cross_entropy(scores.flatten(0, 1), pieces[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return model, alphabet, losses


def main(steps=600):
    """Train for a number of steps and return the losses."""
    return train(steps)[2]


def smooth(losses, over=10):
    """Average every `over` losses."""
    return [sum(losses[i:i + over]) / over for i in range(0, len(losses) - over + 1, over)]


def draw(ours, theirs, verses, path):
    """Draw the losses over the steps, and the verses beside them."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), width_ratios=(3, 2))
    steps = [10 * i + 5 for i in range(len(ours))]
    left.plot(steps, ours, label="this run", linewidth=2.5)
    left.plot(steps[:len(theirs)], theirs, "--", label="PyTorch 2.13, the same seed")
    left.set_xlabel("step")
    left.set_ylabel("cross entropy per character")
    left.set_ylim(bottom=0)
    left.legend()
    right.axis("off")
    right.text(0, 1, verses, va="top", family="monospace", fontsize=9)
    right.set_title("written by the model", loc="left")
    figure.tight_layout()
    figure.savefig(path)


if __name__ == "__main__":
    torch.set_num_threads(1)        # matrices as small as these gain nothing from threads
    start = time.perf_counter()
    model, alphabet, losses = train(600)
    seconds = time.perf_counter() - start
    theirs = json.loads((HERE / "recorded.json").read_text())["demo"]
    ours = smooth(losses)
    print(f"loss: {ours[0]:.4f} over the first ten steps, {ours[-1]:.4f} over the last ten of {len(losses)} "
          f"({seconds:.0f} s)")
    print(f"PyTorch 2.13, from the same seed: {theirs[0]:.4f} and {theirs[-1]:.4f}")
    codes = model.write(torch.tensor([[alphabet.index("\n")]]), 400)[0].tolist()
    verses = "".join([alphabet[c] for c in codes]).strip()
    print(f"\n{verses}\n")
    draw(ours, theirs, verses, "char_transformer.png")
    print("drawn: char_transformer.png")
