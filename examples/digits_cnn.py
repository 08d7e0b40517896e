"""Trains a convolutional network to read digits of 8x8 pixels.

An ordinary PyTorch program: `retrograd run examples/digits_cnn.py`. The digits are scikit-learn's where it is
installed, and drawn from a small font otherwise.
"""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

FONT = """
.###. ..#.. .###. ##### ...#. ##### ..##. ##### .###. .###.
#...# .##.. #...# ...#. ..##. #.... .#... ....# #...# #...#
#..## ..#.. ....# ..#.. .#.#. ####. #.... ...#. #...# #...#
#.#.# ..#.. ...#. ...#. #..#. ....# ####. ..#.. .###. .####
##..# ..#.. ..#.. ....# ##### ....# #...# .#... #...# ....#
#...# ..#.. .#... #...# ...#. #...# #...# .#... #...# ...#.
.###. .###. ##### .###. ...#. .###. .###. .#... .###. .##..
"""


def glyphs():
    """The ten digits of the font as a tensor of 10 x 7 x 5 zeros and ones."""
    rows = [line.split() for line in FONT.strip().splitlines()]
    return torch.tensor([[[float(dot == "#") for dot in row[digit]] for row in rows] for digit in range(10)])


def drawn_digits(count):
    """Draw digits at random places of an 8x8 image, with noise."""
    labels = torch.randint(0, 10, (count,))
    images = torch.zeros(count, 1, 8, 8)
    for image, glyph, right, down in zip(images, glyphs()[labels], torch.randint(0, 4, (count,)),
                                         torch.randint(0, 2, (count,)), strict=True):
        image[0, down:down + 7, right:right + 5] = glyph
    return images + 0.35 * torch.randn(images.shape), labels


def digits(count=1500):
    """Images and labels: scikit-learn's, or drawn ones."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        return drawn_digits(count)
    images, labels = load_digits(return_X_y=True)
    return torch.tensor(images, dtype=torch.float32).reshape(-1, 1, 8, 8) / 16, torch.tensor(labels)


class Reader(nn.Module):
    """Two convolutions, and a linear layer on what they find."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(32)
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(32 * 4, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.norm2(self.conv2(x))), 2)
        return self.head(self.dropout(x.flatten(1)))


def main(epochs=8, drawn=None):
    """Train, and return the mean loss of every epoch and the share of new digits that are read right."""
    torch.manual_seed(0)
    data = TensorDataset(*(drawn_digits(drawn) if drawn else digits()))
    held_back = len(data) // 5
    training, new = random_split(data, [len(data) - held_back, held_back])
    loader = DataLoader(training, batch_size=32, shuffle=True)
    model = Reader()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    results = []
    for epoch in range(epochs):
        losses = []
        for images, labels in loader:
            loss = F.cross_entropy(model(images), labels, label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        schedule.step()
        results.append(sum(losses) / len(losses))
        print(f"epoch {epoch + 1}: loss {results[-1]:.4f}")
    model.eval()
    with torch.no_grad():
        images, labels = next(iter(DataLoader(new, batch_size=len(new))))
        right = (model(images).argmax(1) == labels).float().mean().item()
    print(f"read right: {right:.1%} of {len(new)} new digits")
    return [*results, right]


if __name__ == "__main__":
    main()
