"""Trains a variational autoencoder on digits of 8x8 pixels, and prints digits that it makes up.

An ordinary PyTorch program: `retrograd run examples/vae.py`.
"""
import torch
from digits_cnn import drawn_digits
from torch import nn
from torch.distributions import Independent, Normal, kl_divergence


class VAE(nn.Module):
    """A Gaussian code of eight numbers for an image, and back."""

    def __init__(self, code=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 128), nn.Softplus(), nn.Linear(128, 2 * code))
        self.decoder = nn.Sequential(nn.Linear(code, 128), nn.Softplus(), nn.Linear(128, 64), nn.Sigmoid())
        self.register_buffer("middle", torch.zeros(code))
        self.register_buffer("spread", torch.ones(code))

    def prior(self):
        return Independent(Normal(self.middle, self.spread), 1)

    def loss(self, images):
        """The negative evidence lower bound, per image."""
        mean, log_spread = self.encoder(images).chunk(2, dim=1)
        code = Independent(Normal(mean, log_spread.exp()), 1)
        decoded = self.decoder(code.rsample())
        likelihood = Independent(Normal(decoded, 0.4), 1).log_prob(images)
        return (kl_divergence(code, self.prior()) - likelihood).mean()


def main(epochs=12, count=1024):
    """Train, and return the mean loss of every epoch."""
    torch.manual_seed(0)
    images = drawn_digits(count)[0].flatten(1)
    model = VAE()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    results = []
    for epoch in range(epochs):
        losses = []
        for batch in images[torch.randperm(count)].split(32):
            loss = model.loss(batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        results.append(sum(losses) / len(losses))
        print(f"epoch {epoch + 1:2}: loss {results[-1]:.3f}")
    with torch.no_grad():
        made = model.decoder(model.prior().sample((6,))).reshape(6, 8, 8)
    for rows in made.unbind(1):
        print("   ".join(["".join([" .:oO@"[int(5.99 * dot)] for dot in row]) for row in rows.tolist()]))
    return results


if __name__ == "__main__":
    main()
