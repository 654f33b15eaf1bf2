"""The compiled loop of the dual solver."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from distkern.common.compiled import array_type, compile_loop


def _descend(
    kernel: Any,
    targets: Any,
    flat: float,
    rising: Any,
    falling: Any,
    above: Any,
    below: Any,
    dual: Any,
    values: Any,
    active: Any,
    slack: float,
    least: float,
) -> tuple[int, float, int]:
    n_kept = 0
    n_updates = 0
    worst = 0.0
    n = values.shape[0]
    for place in range(active.shape[0]):
        i = active[place]
        square = np.float64(kernel[i, i])
        old = dual[i]
        # the slope at a = 0, all else as it is, turned around
        pull = targets[i] - (np.float64(values[i]) - square * old)
        if pull > flat:
            new = min((pull - flat) / (square + rising[i]), above[i])
        elif pull < -flat:
            new = max((pull + flat) / (square + falling[i]), -below[i])
        else:
            new = 0.0
        change = new - old
        if change == 0.0:
            # how much the prediction would have to change for the coordinate to move
            room = math.inf
            if new == 0.0:
                if above[i] > 0.0:
                    room = flat - pull
                if below[i] > 0.0:
                    room = min(room, flat + pull)
            elif new == above[i]:
                room = pull - flat - (square + rising[i]) * new
            elif new == -below[i]:
                room = -pull - flat + (square + falling[i]) * new
            else:
                room = 0.0
            if room > slack:
                continue
        else:
            curve = rising[i] if new > 0.0 or old > 0.0 else falling[i]
            gradient = abs(change) * (square + curve)
            worst = max(worst, gradient)
            if gradient > least:
                dual[i] = new
                step = values.dtype.type(change)
                for j in range(n):
                    values[j] += step * kernel[i, j]
                n_updates += 1
        active[n_kept] = i
        n_kept += 1
    return n_kept, worst, n_updates


@cache
def descend(dtype: np.dtype[Any]) -> Callable[..., tuple[int, float, int]]:
    """Exact minimisation over one dual coordinate after the other.

    The compiled function takes ``kernel`` (m, m), the :class:`~distkern.losses.conjugate.RowConjugates` as
    ``targets``, ``flat``, ``rising``, ``falling``, ``above``, ``below``, then ``dual`` (m,) and ``values``
    (m,) = K a, both of which it changes, ``active``, the coordinates in the order in which they are
    visited, ``slack`` and ``least``. Coordinates that stay where they are and would do so
    until their prediction changes by more than ``slack`` are taken out of ``active``; one whose gradient is
    no larger than ``least`` is left as it is, because moving it takes m times as long as looking at it. It
    returns how many are left at its front, the largest gradient that a coordinate had, and how many moved.
    """
    import numba

    numbers, written = array_type(np.float64, 1), array_type(np.float64, 1, writable=True)
    arguments = (
        array_type(dtype, 2),
        numbers,
        numba.float64,
        numbers,
        numbers,
        numbers,
        numbers,
        written,
        array_type(dtype, 1, writable=True),
        array_type(np.intp, 1, writable=True),
        numba.float64,
        numba.float64,
    )
    return compile_loop(_descend, arguments)
