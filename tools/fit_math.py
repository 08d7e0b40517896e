"""Fits the polynomials of codegen/native/polynomials.h with mpmath; what it prints is that file.

Each line is a near-minimax polynomial on an interval, one for float and one for double, as a Horner scheme over FMA.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp  # type: ignore[import-not-found, import-untyped, unused-ignore]

mp.mp.dps = 60


def root(f: Callable[[Any], Any], z: Any) -> Any:
    """f(sqrt z) for an odd function divided by its argument."""
    s = mp.sqrt(z)
    return f(s)


def series(f: Callable[[Any], Any], terms: list[Any], near: float = 1e-6) -> Callable[[Any], Any]:
    """`f` away from 0, its Taylor series close to it, where `f` would cancel."""
    return lambda x: f(x) if abs(x) > near else sum(c * x ** k for k, c in enumerate(terms))


def erfinv_over_x(w: Any) -> Any:
    """erfinv(x) / x for w = -log(1 - x^2), by Newton's method on erfc where x is close to 1."""
    x = mp.sqrt(-mp.expm1(-w))
    if w < 6:
        return mp.erfinv(x) / x if w else mp.sqrt(mp.pi) / 2
    left, y = mp.exp(-w) / (1 + x), mp.sqrt(w) * mp.mpf("0.9")
    for _ in range(60):
        y += (mp.erfc(y) - left) / (2 / mp.sqrt(mp.pi) * mp.exp(-y * y))
    return y / x


F = mp.factorial
FITS: list[tuple[str, Callable[[Any], Any], tuple[Any, Any], int, int]] = [
    # name, function, interval, number of coefficients for float, for double
    ("EXP", series(lambda r: (mp.exp(r) - 1 - r) / r ** 2, [1 / F(k + 2) for k in range(8)], 1e-4), ("-0.3475",
         "0.3475"), 5, 11),
    ("LOG", series(lambda m: (mp.log1p(m) - m + m * m / 2) / m ** 3, [(-1) ** k / mp.mpf(k + 3) for k in range(8)], 1e-4),
     ("-0.2930", "0.4143"), 9, 0),
    ("LOGS", series(lambda z: root(lambda s: (2 * mp.atanh(s) / s - 2) / s ** 2, z),
         [mp.mpf(2) / (2 * k + 3) for k in range(6)], 1e-5),
     ("0", "0.0296"), 4, 8),
    ("SIN", series(lambda z: root(lambda x: (mp.sin(x) / x - 1) / x ** 2, z),
         [(-1) ** (k + 1) / F(2 * k + 3) for k in range(6)], 1e-5),
     ("0", "0.6171"), 4, 6),
    ("COS", series(lambda z: root(lambda x: (mp.cos(x) - 1 + x * x / 2) / x ** 4, z),
         [(-1) ** k / F(2 * k + 4) for k in range(6)], 1e-5),
     ("0", "0.6171"), 3, 6),
    ("ATAN", series(lambda z: root(lambda x: (mp.atan(x) / x - 1) / x ** 2, z),
         [(-1) ** (k + 1) / mp.mpf(2 * k + 3) for k in range(6)], 1e-5),
     ("0", "0.1717"), 5, 13),
    ("ASIN", series(lambda z: root(lambda x: (mp.asin(x) / x - 1) / x ** 2, z), [mp.mpf(1) / 6, mp.mpf(3) / 40,
         mp.mpf(15) / 336], 1e-6),
     ("0", "0.2501"), 6, 15),
    ("ERF", series(lambda z: root(lambda x: mp.erf(x) / x - 1, z), [2 / mp.sqrt(mp.pi) - 1, -2 / (3 * mp.sqrt(mp.pi)),
         1 / (5 * mp.sqrt(mp.pi))], 1e-8),
     ("0", "1.0001"), 7, 13),
    # erfc(x) exp(x^2) (x + 3) on x >= 3/4 as a polynomial in t = (x - 3) / (x + 3)
    ("ERFC", lambda t: mp.erfc(3 * (1 + t) / (1 - t)) * mp.exp((3 * (1 + t) / (1 - t)) ** 2) * (3 * (1 + t) / (1 - t) + 3),
     ("-0.601", "0.81"), 11, 22),
    # erfinv(x) / x around w = 3.125, and around 4.3 for the root of w
    ("ERFINVC", lambda u: erfinv_over_x(u + mp.mpf("3.125")), ("-3.125", "3.125"), 12, 24),
    ("ERFINVT", lambda u: erfinv_over_x((u + mp.mpf("4.3")) ** 2), ("-1.8", "1.8"), 14, 30),
    ("ERFL", series(lambda x: mp.log(mp.erfc(x)) / x, [-2 / mp.sqrt(mp.pi), -2 / mp.pi], 1e-7), ("0", "4"), 9, 0),
]


def scheme(coefficients: list[Any], kind: str) -> str:
    """The lines of Horner's scheme."""
    digits, suffix = (10, "f") if kind == "float" else (19, "")
    first, *rest = [mp.nstr(c, digits) + suffix for c in coefficients]
    steps = [f"  y = FMA{kind[0].upper()}(y, x, {c});" for c in rest]
    return "\n".join([f"  {kind} y = {first};", *steps, "  return y;"])


def weighted_log_erfc(count: int) -> list[Any]:
    """Coefficients of log(erfc x) / x with errors weighted by what erf = 1 - exp(x p(x)) makes of them."""
    import numpy as np

    u = np.cos(np.pi * (np.arange(1500) + 0.5) / 1500)
    x = (u + 1) * 2
    y = np.array([float(mp.log(mp.erfc(mp.mpf(v))) / v) for v in x])
    weight = np.array([float(v * mp.erfc(mp.mpf(v)) / mp.erf(mp.mpf(v))) for v in x])
    powers = np.polynomial.chebyshev.chebvander(u, count - 1)
    scale = weight.copy()
    for _ in range(25):
        c = np.linalg.lstsq(powers * scale[:, None], y * scale, rcond=None)[0]
        error = np.abs(powers @ c - y) * weight
        scale *= np.sqrt(error / error.mean() + 1e-3)
        scale /= scale.max()
    found = np.polynomial.chebyshev.Chebyshev(c, domain=[0, 4]).convert(kind=np.polynomial.Polynomial).coef
    return [mp.mpf(float(v)) for v in found[::-1]]


print("/* Written by tools/fit_math.py: near-minimax polynomials of the vector math functions. */")
for name, function, (low, high), floats, doubles in FITS:
    for count, kind in ((floats, "float"), (doubles, "double")):
        if not count:
            continue
        if name == "ERFL":
            coefficients, error = weighted_log_erfc(count), 0
        else:
            coefficients, error = mp.chebyfit(function, [mp.mpf(low), mp.mpf(high)], count, error=True)
        print(f"/* error {mp.nstr(error, 2)} on [{low}, {high}] */")
        print(f"static inline {kind} {name.lower()}_poly_{kind[0]}({kind} x) {{\n{scheme(coefficients, kind)}\n}}")
