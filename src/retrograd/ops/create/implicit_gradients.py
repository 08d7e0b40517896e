"""Derivatives of gamma and beta samples with respect to their parameters, by implicit differentiation.

A sample x of a distribution with cumulative function F(x; a) and density p moves by -(dF/da) / p if its quantile is to
stay the same. Here this is computed to nearly full precision, in float64:

- gamma: F / p is the series of x^(n+1) / (a (a+1) ... (a+n)), differentiated term by term; far out in the upper tail, where
  its terms cancel, an integral over the tail by Gauss-Laguerre quadrature; for large a Cornish and Fisher's expansion.
- beta: F / p is a hypergeometric series, in x below the mean and in 1 - x above it.
"""
from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from retrograd.core import lean
from retrograd.core.algorithms import native

LARGE = 1000.0
NODES = 48
FEW = 32            # up to this many elements, loops over numbers are faster than over arrays
TERMS = 50_000      # more than concentrations of a million need


@cache
def functions() -> Any:
    from scipy import special
    return special


def standard_gamma_grad(alpha: Any, x: Any) -> Any:
    """The derivative of a gamma sample `x` with rate 1 with respect to its concentration."""
    alpha, x = np.broadcast_arrays(alpha.astype(np.float64), x.astype(np.float64))
    result = np.empty(x.shape)
    large = alpha >= LARGE
    tail = ~large & (x > alpha + 6.0 * np.sqrt(alpha) + 8.0)
    for where, rule in ((large, gamma_expansion), (tail, gamma_tail), (~large & ~tail, gamma_series)):
        if where.any():
            result[where] = rule(alpha[where], x[where])
    return result


def gamma_series(alpha: Any, x: Any) -> Any:
    if native is not None:
        made = np.empty(x.shape)
        if native.gamma_slope(alpha, x, functions().digamma(alpha + 1.0), made):
            return made
    weight = x / alpha
    slope = np.log(x) - functions().digamma(alpha + 1.0)
    total = weight * slope
    if x.size <= FEW:
        try:
            return -np.array(few_gamma_terms(*[a.ravel().tolist() for a in (alpha, x, weight, slope, total)])).reshape(x.shape)
        except ZeroDivisionError:          # NumPy gives infinity
            pass
    for n in range(1, TERMS):
        weight = weight * (x / (alpha + n))
        slope = slope - 1.0 / (alpha + n)
        term = weight * slope
        total = total + term
        if not ((np.abs(term) > 1e-17 * np.abs(total)) | (n <= x - alpha)).any():
            break
    return -total


def few_gamma_terms(alpha: Any, x: Any, weight: Any, slope: Any, total: Any) -> list[float]:
    """The sums of the series for lists of numbers: for a few of them faster than arrays, with the same rounding."""
    for n in range(1, TERMS):
        more = False
        for i in range(len(x)):
            weight[i] = weight[i] * (x[i] / (alpha[i] + n))
            slope[i] = slope[i] - 1.0 / (alpha[i] + n)
            term = weight[i] * slope[i]
            total[i] = total[i] + term
            if abs(term) > 1e-17 * abs(total[i]) or n <= x[i] - alpha[i]:
                more = True
        if not more:
            break
    return list(total)


@cache
def nodes_of(count: int) -> tuple[Any, Any]:
    """The points and weights of Gauss and Laguerre's quadrature."""
    return np.polynomial.laguerre.laggauss(count)


def gamma_tail(alpha: Any, x: Any) -> Any:
    """The integral of (log(t) - digamma(a)) p(t) / p(x) over t from x on, with t = x + u / rate."""
    u, weights = nodes_of(NODES)
    alpha, x = alpha[:, None], x[:, None]
    rate = 1.0 - (alpha - 1.0) / x
    beyond = u / rate
    ratio = np.exp((alpha - 1.0) * np.log1p(beyond / x) - beyond + u)
    return (weights * ratio * (np.log(x + beyond) - functions().digamma(alpha))).sum(-1) / rate[:, 0]


def gamma_expansion(alpha: Any, x: Any) -> Any:
    """The quantile as a series in the normal quantile z and 1 / sqrt(a), solved for z and differentiated in a."""
    root = np.sqrt(alpha)
    z = (x - alpha) / root
    for _ in range(6):
        value = (alpha + root * z + (z**2 - 1) / 3 + (z**3 - 7 * z) / (36 * root) - (3 * z**4 + 7 * z**2 - 16) / (810 * alpha)
                 + (9 * z**5 + 256 * z**3 - 433 * z) / (38880 * alpha * root))
        z = z - (value - x) / (root + 2 * z / 3 + (3 * z**2 - 7) / (36 * root))
    return (1 + z / (2 * root) - (z**3 - 7 * z) / (72 * root**3) + (3 * z**4 + 7 * z**2 - 16) / (810 * alpha**2)
            - (9 * z**5 + 256 * z**3 - 433 * z) / (25920 * root**5))


def dirichlet_grad(x: Any, alpha: Any, total: Any) -> Any:
    """The derivative of a sample `x` of Beta(alpha, total - alpha) with respect to alpha, divided by 1 - x."""
    x, alpha, total = (array.astype(np.float64) for array in (x, alpha, total))
    if not x.shape == alpha.shape == total.shape:
        x, alpha, total = np.broadcast_arrays(x, alpha, total)
    if native is not None:
        made = np.empty(x.shape)
        slope = functions().digamma(total) - functions().digamma(alpha)
        if native.beta_slope(*[np.ascontiguousarray(a) for a in (x, alpha, total, slope)], made):
            return made
    below = x * total <= alpha
    own, z = np.where(below, alpha, total - alpha), np.where(below, x, 1.0 - x)
    slope = np.log(x) - functions().digamma(alpha) + functions().digamma(total) - np.where(below, 1.0 / alpha, 0.0)
    weight, sums = lean.ones(x.shape), slope
    if x.size <= FEW:
        try:
            found = few_beta_terms(*[a.ravel().tolist() for a in (alpha, total, own, z, below, weight, slope)])
            return np.where(below, -1.0, 1.0) * np.array(found).reshape(x.shape) * x / own
        except ZeroDivisionError:      # NumPy gives infinity
            pass
    for n in range(TERMS):
        weight = weight * ((total + n) / (own + n + 1.0) * z)
        slope = slope + 1.0 / (total + n) - np.where(below, 1.0 / (alpha + n + 1.0), 0.0)
        term = weight * slope
        sums = sums + term
        if not (np.abs(term) > 1e-17 * np.abs(sums)).any():
            break
    return np.where(below, -1.0, 1.0) * sums * x / own


def few_beta_terms(alpha: Any, total: Any, own: Any, z: Any, below: Any, weight: Any, slope: Any) -> list[float]:
    """The same as `few_gamma_terms` for the hypergeometric series."""
    sums = list(slope)
    for n in range(TERMS):
        more = False
        for i in range(len(z)):
            weight[i] = weight[i] * ((total[i] + n) / (own[i] + n + 1.0) * z[i])
            slope[i] = slope[i] + 1.0 / (total[i] + n) - (1.0 / (alpha[i] + n + 1.0) if below[i] else 0.0)
            term = weight[i] * slope[i]
            sums[i] = sums[i] + term
            if abs(term) > 1e-17 * abs(sums[i]):
                more = True
        if not more:
            break
    return sums
