"""The compiled step of SIMBA's primal variables: rows into u, averages kept lazily, columns drawn by u^2."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from distkern.core.compiled import array_type, compile_loop
from distkern.core.philox import philox, unit

#: coordinates of a chunk, and chunks of a span, whose sums of squares are kept
CHUNK = 64


def squares(values: Any, start: int, stop: int) -> float:
    """Sum of squares in a fixed order."""
    a = b = c = d = 0.0
    whole = start + (stop - start) // 4 * 4
    for i in range(start, whole, 4):
        a += values[i] * values[i]
        b += values[i + 1] * values[i + 1]
        c += values[i + 2] * values[i + 2]
        d += values[i + 3] * values[i + 3]
    for i in range(whole, stop):
        a += values[i] * values[i]
    return (a + b) + (c + d)


def total(values: Any, start: int, stop: int) -> float:
    """Sum in order."""
    result = 0.0
    for i in range(start, stop):
        result += values[i]
    return result


def _refresh(u, chunks, spans, norms):  # type: ignore[no-untyped-def]
    size, n_chunks, n_spans = u.shape[1], chunks.shape[1], spans.shape[1]
    for lane in range(u.shape[0]):
        for chunk in range(n_chunks):
            chunks[lane, chunk] = squares(u[lane], chunk * CHUNK, min(chunk * CHUNK + CHUNK, size))
        for span in range(n_spans):
            spans[lane, span] = total(chunks[lane], span * CHUNK, min(span * CHUNK + CHUNK, n_chunks))
        norms[lane] = total(spans[lane], 0, n_spans)


def _step(  # type: ignore[no-untyped-def]
    u, behind, banked, chunks, spans, norms, stamps, touched, sums, data, indices, indptr, masses, signs,
    seed, purpose, t, step, weight, signed, column_scale, sums_of_b, columns, coefficients, b, masses_total,
):  # fmt: skip
    lanes, size = u.shape
    outputs = signs.shape[1]
    n_chunks, n_spans = chunks.shape[1], spans.shape[1]
    for lane in range(lanes):
        mass = difference = 0.0
        for group in range(sums.shape[0]):
            mass += sums[group, lane, 0]
            difference += sums[group, lane, 1]
        masses_total[lane] = mass
        b[lane] = 0.0
        if signed:
            b[lane] = 1.0 if difference > 0.0 else (-1.0 if difference < 0.0 else 0.0)
        sums_of_b[lane] += weight * b[lane]
    for draw in range(masses.shape[0]):
        mean = 0.0
        for lane in range(lanes):
            mean += masses[draw, lane] / masses_total[lane]
        mean /= lanes
        for lane in range(lanes):
            share = (masses[draw, lane] / masses_total[lane]) / mean
            factor = step * share * signs[draw, lane % outputs]
            bank = banked[lane]
            for entry in range(indptr[draw], indptr[draw + 1]):
                change = factor * data[entry]
                u[lane, indices[entry]] += change
                behind[lane, indices[entry]] += bank * change
    n_touched = 0
    for entry in range(indptr[0], indptr[masses.shape[0]]):
        chunk = indices[entry] // CHUNK
        if stamps[chunk] != t:
            stamps[chunk] = t
            touched[n_touched] = chunk
            n_touched += 1
    alive = 0
    for lane in range(lanes):
        for place in range(n_touched):
            chunk = touched[place]
            chunks[lane, chunk] = squares(u[lane], chunk * CHUNK, min(chunk * CHUNK + CHUNK, size))
        last = -1
        for place in range(n_touched):
            span = touched[place] // CHUNK
            if span != last:
                spans[lane, span] = total(chunks[lane], span * CHUNK, min(span * CHUNK + CHUNK, n_chunks))
                last = span
        norms[lane] = total(spans[lane], 0, n_spans)
        if norms[lane] > 0.0:
            alive += 1
        banked[lane] += weight / max(1.0, math.sqrt(norms[lane]))
    if alive == 0:
        return 0
    for draw in range(columns.shape[0]):
        words = philox(seed, purpose, t, draw, 0, 0)
        chosen = int(unit(words[0]) * alive)
        for lane in range(lanes):
            if norms[lane] > 0.0:
                if chosen == 0:
                    own = lane
                    break
                chosen -= 1
        left = unit(words[1]) * norms[own]
        # sums may end a rounding error short, so the last that is not empty takes what is left
        span = 0
        for place in range(n_spans):
            if spans[own, place] > 0.0:
                span = place
                if left < spans[own, place]:
                    break
                left -= spans[own, place]
        chunk = span * CHUNK
        for place in range(span * CHUNK, min(span * CHUNK + CHUNK, n_chunks)):
            if chunks[own, place] > 0.0:
                chunk = place
                if left < chunks[own, place]:
                    break
                left -= chunks[own, place]
        column = chunk * CHUNK
        for place in range(chunk * CHUNK, min(chunk * CHUNK + CHUNK, size)):
            square = u[own, place] * u[own, place]
            if square > 0.0:
                column = place
                if left < square:
                    break
                left -= square
        columns[draw] = column
        mean = 0.0
        for lane in range(lanes):
            if norms[lane] > 0.0:
                mean += u[lane, column] * u[lane, column] / norms[lane]
        mean /= alive
        for lane in range(lanes):
            w = u[lane, column] / max(1.0, math.sqrt(norms[lane]))
            coefficients[lane, draw] = column_scale * w / mean
    return columns.shape[0]


@cache
def refresh_loop() -> Callable[..., None]:
    """All sums of squares of u (lanes, size), with the bits that step by step leaves."""
    matrix, vector = (array_type(np.float64, n, writable=True) for n in (2, 1))
    helpers: dict[str, Callable[..., Any]] = {"squares": squares, "total": total}
    return compile_loop(_refresh, (matrix, matrix, matrix, vector), helpers=helpers, exact=True)


@cache
def step_loop(dtype: np.dtype[Any]) -> Callable[..., int]:
    """Round t of the primal: b, u += step * weighted rows, averages, and columns with their coefficients.

    Takes u (lanes, size) and what is kept of it: ``behind`` and ``banked`` with sum_t a_t w_t = banked u -
    behind, sums of squares of chunks and spans, ``stamps`` (n_chunks,) of the last round that touched a
    chunk, and a buffer ``touched``; the residents' ``sums`` (groups, lanes, 2), the drawn rows in compressed
    form with their q and signs; and writes ``columns``, ``coefficients`` (lanes, columns), b and the totals
    of q. Returns how many columns were drawn: none while u is 0.
    """
    import numba

    matrix, vector = (array_type(np.float64, n, writable=True) for n in (2, 1))
    whole, number = numba.int64, numba.float64
    wholes = array_type(np.int64, 1, writable=True)
    arguments = (
        matrix, matrix, vector, matrix, matrix, vector, wholes, wholes, array_type(np.float64, 3),
        array_type(dtype, 1), array_type(np.int32, 1), array_type(np.int64, 1), array_type(np.float64, 2),
        array_type(np.int8, 2), numba.uint64, whole, whole, number, number, numba.boolean, number, vector,
        wholes, matrix, vector, vector,
    )  # fmt: skip
    helpers: dict[str, Callable[..., Any]] = {
        "philox": philox, "unit": unit, "squares": squares, "total": total,
    }  # fmt: skip
    return compile_loop(_step, arguments, helpers=helpers, exact=True)
