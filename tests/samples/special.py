"""Samples of the ops in retrograd/ops/elementwise/special.py."""
from __future__ import annotations

from collections.abc import Iterator

from tests.samples import Maker, Sample, samples


@samples("special_entr.default", "special_i0e.default", "special_i1e.default", "special_log_ndtr.default",
         "special_ndtr.default", "special_erfcx.default", "special_expit.default")
def of_any_real(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, low=0.1, high=2.0))
    yield Sample(make(low=0.1, high=2.0))
    yield Sample(make(0))


@samples("special_digamma.default", "special_erf.default", "special_erfc.default", "special_exp2.default",
         "special_expm1.default", "special_gammaln.default", "special_i0.default", "special_log1p.default",
         "special_psi.default", "special_sinc.default")
def other_names(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, low=0.1, high=2.0))


@samples("special_ndtri.default", "special_erfinv.default", "special_logit.default")
def of_probabilities(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, low=0.1, high=0.9))


@samples("igamma.default", "igammac.default", "special_gammainc.default", "special_gammaincc.default")
def incomplete_gamma(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, low=0.5, high=2.0, requires_grad=False), make(3, 4, low=0.5, high=2.0))


@samples("special_zeta.default")
def zeta(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, low=1.5, high=3.0, requires_grad=False), make(3, 4, low=0.5, high=2.0))


@samples("special_zeta.self_scalar")
def zeta_of_number(make: Maker) -> Iterator[Sample]:
    yield Sample(2.5, make(3, 4, low=0.5, high=2.0))


@samples("special_zeta.other_scalar")
def zeta_at_number(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, low=1.5, high=3.0, requires_grad=False), 1.5, grad=False)


@samples("mvlgamma.default", "special_multigammaln.default")
def mvlgamma(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, low=2.0, high=4.0), 2)


@samples("special_polygamma.default")
def polygamma(make: Maker) -> Iterator[Sample]:
    yield Sample(1, make(3, 4, low=0.5, high=2.0))


@samples("special_xlog1py.default", "special_xlogy.default")
def xlog(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(4, low=0.5, high=2.0))


@samples("special_xlog1py.self_scalar", "special_xlogy.self_scalar")
def xlog_of_number(make: Maker) -> Iterator[Sample]:
    yield Sample(2.5, make(4, low=0.5, high=2.0))


@samples("special_xlog1py.other_scalar", "special_xlogy.other_scalar")
def xlog_at_number(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 2.5)


@samples("special_round.default")
def rounded(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(3, 4), decimals=1)


@samples("special_softmax.default", "special_log_softmax.default")
def softmax(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1)


@samples("special_bessel_j0.default", "special_bessel_j1.default", "special_bessel_y0.default",
         "special_bessel_y1.default", "special_modified_bessel_i0.default", "special_modified_bessel_i1.default",
         "special_modified_bessel_k0.default", "special_modified_bessel_k1.default",
         "special_scaled_modified_bessel_k0.default", "special_scaled_modified_bessel_k1.default",
         "special_airy_ai.default", "special_spherical_bessel_j0.default")
def bessel(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, low=0.1, high=3.0, requires_grad=False))


POLYNOMIALS = ("special_chebyshev_polynomial_t", "special_shifted_chebyshev_polynomial_t",
               "special_chebyshev_polynomial_u", "special_shifted_chebyshev_polynomial_u",
               "special_chebyshev_polynomial_v", "special_shifted_chebyshev_polynomial_v",
               "special_chebyshev_polynomial_w", "special_shifted_chebyshev_polynomial_w",
               "special_hermite_polynomial_h", "special_hermite_polynomial_he", "special_laguerre_polynomial_l",
               "special_legendre_polynomial_p")


@samples(*[f"{name}.x_scalar" for name in POLYNOMIALS])
def polynomials_at_a_number(make: Maker) -> Iterator[Sample]:
    yield Sample(0.3, make.index(5, 4))


@samples(*[f"{name}.n_scalar" for name in POLYNOMIALS])
def polynomials_of_one_degree(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, low=0.1, high=0.9, requires_grad=False), 3)


@samples(*[f"{name}.default" for name in POLYNOMIALS])
def polynomials(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, low=0.1, high=0.9, requires_grad=False), make.index(5, 4))
