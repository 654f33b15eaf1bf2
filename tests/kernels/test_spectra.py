"""Spectral distributions and normal quantiles against quadrature and SciPy."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtri

from distkern.kernels import _spectra
from distkern.samplers.normal import normal_quantiles

DENSITIES = {
    _spectra.hyperbolic_secant: lambda w: 1 / np.cosh(np.pi * w),
    _spectra.half_cauchy_width: lambda w: 2 / (np.pi * (1 + 4 * w**2)),
    _spectra.jensen_shannon: lambda w: 1 / (np.cosh(np.pi * w) * (1 + 4 * w**2) * np.log(2)),
}


@pytest.mark.parametrize("quantiles", DENSITIES, ids=lambda function: function.__name__)
def test_quantiles_invert_the_integral_of_the_density(quantiles):
    density = DENSITIES[quantiles]
    uniforms = np.array([0.5, 0.501, 0.6, 0.8, 0.95, 0.999])
    for u, w in zip(uniforms, quantiles(uniforms), strict=True):
        assert 0.5 + quad(density, 0, w, epsabs=1e-13)[0] == pytest.approx(u, abs=1e-9)
    np.testing.assert_allclose(quantiles(1 - uniforms), -quantiles(uniforms), rtol=1e-6, atol=1e-12)


def test_the_ends_of_the_unit_interval_are_finite():
    ends = np.array([2.0**-54, 1 - 2.0**-53])
    for quantiles in (*DENSITIES, normal_quantiles):
        values = quantiles(ends)
        assert np.all(np.isfinite(values))
        assert values[0] < 0 < values[1]


def test_jensen_shannon_quantiles_are_smooth_between_the_nodes():
    uniforms = np.linspace(0.5, 1 - 1e-12, 200001)
    assert np.all(np.diff(_spectra.jensen_shannon(uniforms)) > 0)


def test_normal_quantiles_are_those_of_scipy():
    tails = 10.0 ** -np.linspace(0.4, 16, 400)
    uniforms = np.concatenate([np.random.default_rng(0).random(20000), tails, 1 - tails[:350], [0.5]])
    np.testing.assert_allclose(normal_quantiles(uniforms), ndtri(uniforms), rtol=4e-15, atol=1e-15)
    assert normal_quantiles(np.full((3, 2), 0.5)).shape == (3, 2)
