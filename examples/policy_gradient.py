"""Balances a pole on a cart by the policy gradient, with a learned baseline.

An ordinary PyTorch program: `retrograd run examples/policy_gradient.py`.
"""
import math

import torch
from torch import nn
from torch.distributions import Categorical


class CartPoles:
    """Several carts at once, each with a pole that falls unless the cart is pushed the right way."""

    def __init__(self, count):
        self.state = 0.1 * torch.rand(count, 4) - 0.05

    def push(self, right):
        """Push every cart left (0) or right (1) for a fiftieth of a second; say which poles are still up."""
        x, speed, angle, turning = self.state.unbind(1)
        force = 20.0 * right - 10.0
        sine, cosine = angle.sin(), angle.cos()
        pushed = (force + 0.05 * turning.square() * sine) / 1.1
        turn = (9.8 * sine - cosine * pushed) / (0.5 * (4.0 / 3.0 - 0.1 * cosine.square() / 1.1))
        moved = pushed - 0.05 * turn * cosine / 1.1
        self.state = torch.stack([x + 0.02 * speed, speed + 0.02 * moved, angle + 0.02 * turning, turning + 0.02 * turn], 1)
        return (self.state[:, 0].abs() < 2.4) & (self.state[:, 2].abs() < math.pi / 15)


class Agent(nn.Module):
    """Scores of the two actions, and a guess of the return."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.policy = nn.Linear(32, 2)
        self.value = nn.Linear(32, 1)

    def forward(self, state):
        hidden = self.body(state)
        return Categorical(logits=self.policy(hidden)), self.value(hidden).squeeze(1)


def episode(agent, carts, longest):
    """Let poles fall; return what the loss needs: log probabilities, values, entropies and who was up, by time."""
    game = CartPoles(carts)
    up = torch.ones(carts, dtype=torch.bool)
    kept = []
    for _ in range(longest):
        actions, value = agent(game.state)
        action = actions.sample()
        kept.append((actions.log_prob(action), value, actions.entropy(), up.float()))
        up = up & game.push(action)
        if not up.any():
            break
    return [torch.stack(parts) for parts in zip(*kept, strict=True)]


def main(episodes=60, carts=16, longest=200):
    """Train; return how long the poles stayed up, by episode."""
    torch.manual_seed(0)
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=0.02)
    stayed = []
    for number in range(episodes):
        log_probs, values, entropies, up = episode(agent, carts, longest)
        returns, total = [], torch.zeros(carts)
        for rewards in up.flip(0):
            total = rewards + 0.98 * total
            returns.append(total)
        returns = torch.stack(returns).flip(0) / 50
        advantage = (returns - values).detach()
        losses = -log_probs * advantage + (returns - values).square() - 0.003 * entropies
        loss = (losses * up).sum() / up.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        stayed.append(up.sum(0).mean().item())
        if number % 10 == 0:
            print(f"episode {number:2}: up for {stayed[-1]:.1f} steps")
    print(f"last episode: up for {stayed[-1]:.1f} of {longest} steps")
    return stayed


if __name__ == "__main__":
    main()
