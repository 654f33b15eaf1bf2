"""Compiled parts of SIMBA's rounds: b, rows added to u, lazy averages, columns drawn by u^2."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.compiled import argument_types, compile_loop, load_numba
from distkern.core.rng import philox, unit

#: coordinates of a chunk and chunks of a span; their sums of squares are kept
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


class Vectors(NamedTuple):
    """u of every output with its averages, all updated in place.

    Attributes
    ----------
    u : (outputs, size)
    behind : (outputs, size), with ``scale_sum`` (outputs,): sum_t a_t w_t = scale_sum u - behind
    norms : (outputs,) squared norms of u
    chunks, spans : sums of squares of u by chunk, and of these by span
    stamps, touched : (n_chunks,) the last round that touched a chunk, and a buffer for the chunks of a round
    """

    u: NDArray[np.float64]
    behind: NDArray[np.float64]
    scale_sum: NDArray[np.float64]
    norms: NDArray[np.float64]
    chunks: NDArray[np.float64]
    spans: NDArray[np.float64]
    stamps: NDArray[np.int64]
    touched: NDArray[np.int64]


def _refresh(v):  # type: ignore[no-untyped-def]
    size, n_chunks, n_spans = v.u.shape[1], v.chunks.shape[1], v.spans.shape[1]
    for output in range(v.u.shape[0]):
        for chunk in range(n_chunks):
            v.chunks[output, chunk] = squares(v.u[output], chunk * CHUNK, min(chunk * CHUNK + CHUNK, size))
        for span in range(n_spans):
            v.spans[output, span] = total(v.chunks[output], span * CHUNK, min(span * CHUNK + CHUNK, n_chunks))
        v.norms[output] = total(v.spans[output], 0, n_spans)


def _biases(sums, totals, b):  # type: ignore[no-untyped-def]
    for output in range(totals.shape[0]):
        mass = difference = 0.0
        for group in range(sums.shape[0]):
            mass += sums[group, output, 0]
            difference += sums[group, output, 1]
        totals[output] = mass
        b[output] = 1.0 if difference > 0.0 else (-1.0 if difference < 0.0 else 0.0)


def _add_rows(  # type: ignore[no-untyped-def]
    v, data, indices, indptr, masses, signs, totals, t, step, weight
):
    outputs, size = v.u.shape
    n_draws = signs.shape[0]
    n_chunks, n_spans = v.chunks.shape[1], v.spans.shape[1]
    for draw in range(n_draws):
        mean = 0.0
        for output in range(outputs):
            mean += masses[draw, output] / totals[output]
        mean /= outputs
        for output in range(outputs):
            share = (masses[draw, output] / totals[output]) / mean
            factor = step * share * signs[draw, output]
            bank = v.scale_sum[output]
            for entry in range(indptr[draw], indptr[draw + 1]):
                change = factor * data[entry]
                v.u[output, indices[entry]] += change
                v.behind[output, indices[entry]] += bank * change
    n_touched = 0
    for entry in range(indptr[0], indptr[n_draws]):
        chunk = indices[entry] // CHUNK
        if v.stamps[chunk] != t:
            v.stamps[chunk] = t
            v.touched[n_touched] = chunk
            n_touched += 1
    for output in range(outputs):
        for place in range(n_touched):
            chunk = v.touched[place]
            v.chunks[output, chunk] = squares(v.u[output], chunk * CHUNK, min(chunk * CHUNK + CHUNK, size))
        last = -1
        for place in range(n_touched):
            span = v.touched[place] // CHUNK
            if span != last:
                v.spans[output, span] = total(
                    v.chunks[output], span * CHUNK, min(span * CHUNK + CHUNK, n_chunks)
                )
                last = span
        v.norms[output] = total(v.spans[output], 0, n_spans)
        v.scale_sum[output] += weight / max(1.0, math.sqrt(v.norms[output]))


def _draw_columns(v, seed, purpose, t, scale, columns, coefficients):  # type: ignore[no-untyped-def]
    outputs, size = v.u.shape
    n_chunks, n_spans = v.chunks.shape[1], v.spans.shape[1]
    alive = 0
    for output in range(outputs):
        if v.norms[output] > 0.0:
            alive += 1
    if alive == 0:
        return 0
    for draw in range(columns.shape[0]):
        words = philox(seed, purpose, t, draw, 0, 0)
        chosen = int(unit(words[0]) * alive)
        for output in range(outputs):
            if v.norms[output] > 0.0:
                if chosen == 0:
                    own = output
                    break
                chosen -= 1
        left = unit(words[1]) * v.norms[own]
        # rounding may leave a rest, which the last nonempty entry takes
        span = 0
        for place in range(n_spans):
            if v.spans[own, place] > 0.0:
                span = place
                if left < v.spans[own, place]:
                    break
                left -= v.spans[own, place]
        chunk = span * CHUNK
        for place in range(span * CHUNK, min(span * CHUNK + CHUNK, n_chunks)):
            if v.chunks[own, place] > 0.0:
                chunk = place
                if left < v.chunks[own, place]:
                    break
                left -= v.chunks[own, place]
        column = chunk * CHUNK
        for place in range(chunk * CHUNK, min(chunk * CHUNK + CHUNK, size)):
            square = v.u[own, place] * v.u[own, place]
            if square > 0.0:
                column = place
                if left < square:
                    break
                left -= square
        columns[draw] = column
        mean = 0.0
        for output in range(outputs):
            if v.norms[output] > 0.0:
                mean += v.u[output, column] * v.u[output, column] / v.norms[output]
        mean /= alive
        for output in range(outputs):
            w = v.u[output, column] / max(1.0, math.sqrt(v.norms[output]))
            coefficients[output, draw] = scale * w / mean
    return columns.shape[0]


def _types(text: str = "", dtype: DTypeLike = np.float64) -> tuple[Any, ...]:
    """The numba types of :class:`Vectors` and of further arguments."""
    numba = load_numba()
    members = argument_types("f8[:, :]! f8[:, :]! f8[:]! f8[:]! f8[:, :]! f8[:, :]! i8[:]! i8[:]!")
    return numba.types.NamedTuple(members, Vectors), *argument_types(text, x=dtype)


@cache
def refresh_loop() -> Callable[[Vectors], None]:
    """Compile the sums of squares of u, with the same bits as updates round by round."""
    return compile_loop(_refresh, _types(), helpers={"squares": squares, "total": total}, exact=True)


@cache
def biases_loop() -> Callable[..., None]:
    """Compile the totals of q over all groups, and the signs of the totals of q y, for each output.

    It takes the sums of q and q y (groups, outputs, 2) and fills the totals and signs, (outputs,) each.
    """
    return compile_loop(_biases, argument_types("f8[:, :, :] f8[:]! f8[:]!"), exact=True)


@cache
def add_rows_loop(dtype: np.dtype[Any]) -> Callable[..., None]:
    """Compile u += step * rows, weighted by q / totals and y, and the averages with the new w, in round t.

    It takes rows as data, indices and indptr, with their q and y (draws, outputs).
    """
    arguments = _types("x[:] i4[:] i8[:] f8[:, :] i1[:, :] f8[:] i8 f8 f8", dtype)
    return compile_loop(_add_rows, arguments, helpers={"squares": squares, "total": total}, exact=True)


@cache
def draw_columns_loop() -> Callable[..., int]:
    """Compile draws of columns by u^2 of an output, with coefficients (outputs, columns).

    It returns the number of columns, 0 while u is 0.
    """
    arguments = _types("u8 i8 i8 f8 i8[:]! f8[:, :]!")
    return compile_loop(_draw_columns, arguments, helpers={"philox": philox, "unit": unit}, exact=True)
