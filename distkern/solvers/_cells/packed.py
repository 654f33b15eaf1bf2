"""Symmetric systems of some rows and columns of a matrix, factorised in half the memory of a square."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from distkern.common.tiles import scratch
from distkern.common.types import Floats


def solve_packed(kernel: Floats, chosen: NDArray[np.intp], added: Floats, wanted: Floats) -> Floats | None:
    """a with (K[chosen, chosen] + diag(added)) a = wanted, and None if rounding made that indefinite.

    By Cholesky's factorisation in rectangular full packed format (Gustavson et al. 2010): the lower triangle
    in columns of equal length, the second half of which lies transposed where the first has nothing.

    Parameters
    ----------
    kernel : K (m, m), symmetric
    chosen : (n,) of its rows and columns, in ascending order, at least one
    added, wanted : (n,)
    """
    from scipy.linalg.lapack import get_lapack_funcs

    n_rows = len(chosen)
    even = 1 - n_rows % 2
    n_first = (n_rows + 1) // 2
    packed = scratch("packed", (n_first, n_rows + even), kernel.dtype)
    for place, column in enumerate(packed):
        first = place + even
        row = n_first + place - 1 + even
        column[first:] = kernel[chosen[place], chosen[place:]]
        column[first] += added[place]
        if first:
            column[:first] = kernel[chosen[row], chosen[n_first : row + 1]]
            column[first - 1] += added[row]
    factorise, solve = get_lapack_funcs(("pftrf", "pftrs"), (packed,))
    factor, failed = factorise(n_rows, packed.reshape(-1), transr="N", uplo="L", overwrite_a=True)
    if failed:
        return None
    found: Floats = solve(n_rows, factor, wanted.astype(kernel.dtype), transr="N", uplo="L")[0]
    return found.reshape(wanted.shape)
