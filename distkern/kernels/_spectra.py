"""Spectral distributions of kernels of histograms, by their inverse distribution functions."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

#: beyond it lies less than 2^-53 of the Jensen-Shannon spectrum, to either side
_FARTHEST = 13.0
_PANELS = 6656


def hyperbolic_secant(uniforms: NDArray[np.float64]) -> NDArray[np.float64]:
    """omega of density sech(pi omega): log(tan(pi u / 2)) / pi."""
    quantiles: NDArray[np.float64] = np.log(np.tan(0.5 * np.pi * uniforms)) / np.pi
    return quantiles


def half_cauchy_width(uniforms: NDArray[np.float64]) -> NDArray[np.float64]:
    """omega of density 2 / (pi (1 + 4 omega^2)): tan(pi (u - 1/2)) / 2."""
    quantiles: NDArray[np.float64] = 0.5 * np.tan(np.pi * (uniforms - 0.5))
    return quantiles


def jensen_shannon(uniforms: NDArray[np.float64]) -> NDArray[np.float64]:
    """omega of density sech(pi omega) / ((1 + 4 omega^2) log 2), to an absolute error of 1e-11.

    The tail Q(omega) has no closed form; omega as a function of -log(2 Q) is smooth, almost a straight line,
    and is interpolated between nodes with its derivative Q / density.
    """
    logarithms, nodes, slopes = _jensen_shannon_table()
    tails = np.minimum(uniforms, 1.0 - uniforms)
    at = -np.log(2.0 * tails)
    panel = np.clip(np.searchsorted(logarithms, at, side="right") - 1, 0, len(nodes) - 2)
    width = logarithms[panel + 1] - logarithms[panel]
    t = (at - logarithms[panel]) / width
    s = 1.0 - t
    sizes = (
        (1.0 + 2.0 * t) * s * s * nodes[panel]
        + t * s * s * width * slopes[panel]
        + (3.0 - 2.0 * t) * t * t * nodes[panel + 1]
        - s * t * t * width * slopes[panel + 1]
    )
    return np.copysign(sizes, uniforms - 0.5)


@cache
def _jensen_shannon_table() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """-log(2 Q), omega, and the derivative of the second by the first, at the nodes."""
    nodes = np.linspace(0.0, _FARTHEST, _PANELS + 1)
    half = 0.5 * (nodes[1] - nodes[0])
    points, weights = np.polynomial.legendre.leggauss(5)
    inside = (nodes[:-1] + half)[:, None] + half * points
    areas = half * (_jensen_shannon_density(inside) @ weights)
    # what lies beyond the last node falls by a factor exp(pi) a unit
    last = _jensen_shannon_density(nodes[-1:]) / (np.pi + 2.0 / _FARTHEST)
    tails = np.cumsum(np.concatenate([last, areas[::-1]]))[::-1]
    tails *= 0.5 / tails[0]
    return -np.log(2.0 * tails), nodes, tails / _jensen_shannon_density(nodes)


def _jensen_shannon_density(omega: NDArray[np.float64]) -> NDArray[np.float64]:
    density: NDArray[np.float64] = 1.0 / (np.cosh(np.pi * omega) * (1.0 + 4.0 * omega**2) * np.log(2.0))
    return density
