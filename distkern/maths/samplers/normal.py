"""The inverse of the normal distribution function, without SciPy to save memory in workers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from distkern.core.tiles import apply, scratch

# Wichura 1988, algorithm AS 241 (PPND16): coefficients of numerator and denominator, highest power first
CENTRE = (
    (2509.0809287301226727, 5226.495278852854561),
    (33430.575583588128105, 28729.085735721942674),
    (67265.770927008700853, 39307.89580009271061),
    (45921.953931549871457, 21213.794301586595867),
    (13731.693765509461125, 5394.1960214247511077),
    (1971.5909503065514427, 687.1870074920579083),
    (133.14166789178437745, 42.313330701600911252),
    (3.387132872796366608, 1.0),
)
MIDDLE = (
    (7.7454501427834140764e-4, 1.05075007164441684324e-9),
    (0.0227238449892691845833, 5.475938084995344946e-4),
    (0.24178072517745061177, 0.0151986665636164571966),
    (1.27045825245236838258, 0.14810397642748007459),
    (3.64784832476320460504, 0.68976733498510000455),
    (5.7694972214606914055, 1.6763848301838038494),
    (4.6303378461565452959, 2.05319162663775882187),
    (1.42343711074968357734, 1.0),
)
_TAIL = (
    (2.01033439929228813265e-7, 2.04426310338993978564e-15),
    (2.71155556874348757815e-5, 1.4215117583164458887e-7),
    (0.0012426609473880784386, 1.8463183175100546818e-5),
    (0.026532189526576123093, 7.868691311456132591e-4),
    (0.29656057182850489123, 0.0148753612908506148525),
    (1.7848265399172913358, 0.13692988092273580531),
    (5.4637849111641143699, 0.59983220655588793769),
    (6.6579046435011037772, 1.0),
)
_CHUNK = 16384


def normal_quantiles(uniforms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return z with P(Z <= z) = u for 0 < u < 1, to a relative error of 1e-15 (Wichura 1988, AS 241)."""
    flat = np.ascontiguousarray(uniforms).reshape(-1)
    result = np.empty_like(flat)
    for start in range(0, flat.size, _CHUNK):
        chunk = slice(start, start + _CHUNK)
        _quantiles(flat[chunk], result[chunk])
    return result.reshape(uniforms.shape)


def _quantiles(uniforms: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    apply(np.subtract, uniforms, 0.5, into=out)
    squares: NDArray[np.float64] = scratch("normal squares", out.shape, np.float64)
    apply(np.multiply, out, out, into=squares)
    apply(np.subtract, 0.180625, squares, into=squares)
    outer = np.flatnonzero(squares < 0.0)
    out *= _ratio(CENTRE, squares)
    if outer.size:
        given = uniforms[outer]
        roots = np.sqrt(-np.log(np.minimum(given, 1.0 - given)))
        sizes = _ratio(MIDDLE, roots - 1.6).copy()
        far = roots > 5.0
        if far.any():
            sizes[far] = _ratio(_TAIL, roots[far] - 5.0)
        out[outer] = np.copysign(sizes, given - 0.5)


def _ratio(coefficients: tuple[tuple[float, float], ...], at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the quotient of two polynomials, in a reused buffer."""
    above: NDArray[np.float64] = scratch("normal numerator", at.shape, np.float64)
    below: NDArray[np.float64] = scratch("normal denominator", at.shape, np.float64)
    for values, own in zip((above, below), zip(*coefficients, strict=True), strict=True):
        values.fill(own[0])
        for coefficient in own[1:]:
            values *= at
            values += coefficient
    above /= below
    return above
