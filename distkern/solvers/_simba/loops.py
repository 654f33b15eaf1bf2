"""Compiled loops of SIMBA over the rows of some groups: multiplicative update, sums, draws.

Rows are cut into strips that never cross groups. Sums run over a strip, in the order of its rows in eight
interleaved runs, then over the strips of a group: the bits depend on the group alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from distkern.core.compiled import argument_types, compile_loop, tuple_type
from distkern.core.rng import philox, unit
from distkern.solvers._simba.columns import GroupColumns

#: rows of a strip
STRIP = 1024


class Segment(NamedTuple):
    """Arrays of n rows of some groups, updated in place.

    Attributes
    ----------
    q : (outputs, n)
    keys : the bits of q, (outputs, n) int64
    signs : y, (outputs, n) int8
    weights, units : (n,) of the rows, relative to the mean and in whole units; (0,) if all are equal
    marks : (outputs, n) uint8, 1 where xi = 2
    rest_rows, rests : (outputs,) the row with another xi (-1: none), and that xi
    offsets : (groups + 1,) starts of their rows
    numbers : (groups,) of the data set's groups
    strips : (strips + 1,) starts of their rows
    group_strips : (groups + 1,) starts of their strips
    sums : (outputs, strips, 2) of the weighted q, and of q y if ``signed``
    signed : whether to sum q y
    """

    q: NDArray[np.float64]
    keys: NDArray[np.int64]
    signs: NDArray[np.int8]
    weights: NDArray[np.float64]
    units: NDArray[np.int64]
    marks: NDArray[np.uint8]
    rest_rows: NDArray[np.int64]
    rests: NDArray[np.float64]
    offsets: NDArray[np.int64]
    numbers: NDArray[np.int64]
    strips: NDArray[np.int64]
    group_strips: NDArray[np.int64]
    sums: NDArray[np.float64]
    signed: bool


class Drawn(NamedTuple):
    """Sums by groups, and the rows that won the draws of a round.

    Attributes
    ----------
    sums : (groups, outputs, 2) of q and of q y
    keys, groups : (draws,) winning times, and winning groups (-1: none)
    masses, signs : (draws, outputs), weighted q and y of the rows
    places : (draws,) positions of the rows in their groups
    """

    sums: NDArray[np.float64]
    keys: NDArray[np.float64]
    groups: NDArray[np.int64]
    masses: NDArray[np.float64]
    signs: NDArray[np.int8]
    places: NDArray[np.int64]

    @classmethod
    def empty(cls, n_draws: int, n_groups: int, outputs: int) -> Drawn:
        """Uninitialised arrays."""
        return cls(
            np.empty((n_groups, outputs, 2)),
            np.empty(n_draws),
            np.empty(n_draws, np.int64),
            np.empty((n_draws, outputs)),
            np.empty((n_draws, outputs), np.int8),
            np.empty(n_draws, np.int64),
        )

    def joined(self, other: Drawn) -> Drawn:
        """Both; ``other`` covers later groups, and the smaller key wins."""
        later = other.keys < self.keys
        wide = later[:, None]
        return Drawn(
            np.concatenate([self.sums, other.sums]),
            np.where(later, other.keys, self.keys),
            np.where(later, other.groups, self.groups),
            np.where(wide, other.masses, self.masses),
            np.where(wide, other.signs, self.signs),
            np.where(later, other.places, self.places),
        )


def strip_sums(q: Any, signs: Any, signed: bool) -> tuple[float, float]:
    """Sum of q, and of q y if ``signed``, over the rows of a strip."""
    a = b = c = d = e = f = g = h = 0.0
    stop = q.shape[0] // 8 * 8
    for i in range(0, stop, 8):
        a += q[i]
        b += q[i + 1]
        c += q[i + 2]
        d += q[i + 3]
        e += q[i + 4]
        f += q[i + 5]
        g += q[i + 6]
        h += q[i + 7]
    for i in range(stop, q.shape[0]):
        a += q[i]
    total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    if not signed:
        return total, 0.0
    a = b = c = d = e = f = g = h = 0.0
    for i in range(0, stop, 8):
        a += q[i] * signs[i]
        b += q[i + 1] * signs[i + 1]
        c += q[i + 2] * signs[i + 2]
        d += q[i + 3] * signs[i + 3]
        e += q[i + 4] * signs[i + 4]
        f += q[i + 5] * signs[i + 5]
        g += q[i + 6] * signs[i + 6]
        h += q[i + 7] * signs[i + 7]
    for i in range(stop, q.shape[0]):
        a += q[i] * signs[i]
    return total, ((a + b) + (c + d)) + ((e + f) + (g + h))


def weighted_sums(q: Any, signs: Any, weights: Any) -> tuple[float, float]:
    """Sums of the weighted q, and of q y, over the rows of a strip."""
    total = difference = 0.0
    for i in range(q.shape[0]):
        mass = weights[i] * q[i]
        total += mass
        difference += mass * signs[i]
    return total, difference


def _add_up(segment):  # type: ignore[no-untyped-def]
    q, signs, strips, sums = segment.q, segment.signs, segment.strips, segment.sums
    weights, weighted = segment.weights, segment.weights.shape[0] > 0
    for output in range(q.shape[0]):
        own = signs[output]
        for strip in range(strips.shape[0] - 1):
            start, stop = strips[strip], strips[strip + 1]
            if weighted:
                total, difference = weighted_sums(q[output, start:stop], own[start:stop], weights[start:stop])
            else:
                total, difference = strip_sums(q[output, start:stop], own[start:stop], segment.signed)
            sums[output, strip, 0] = total
            sums[output, strip, 1] = difference


def _update(segment, columns, coefficients, b, eta):  # type: ignore[no-untyped-def]
    q, signs, marks, strips, sums = segment.q, segment.signs, segment.marks, segment.strips, segment.sums
    data, places, starts, dense = columns.data, columns.places, columns.starts, columns.dense
    weights, weighted = segment.weights, segment.weights.shape[0] > 0
    n_columns = starts.shape[0] - 1
    cursors = starts[:-1].copy()
    dots = np.empty(STRIP)
    for strip in range(strips.shape[0] - 1):
        start, stop = strips[strip], strips[strip + 1]
        dot = dots[: stop - start]
        for output in range(q.shape[0]):
            for i in range(stop - start):
                dot[i] = 0.0
            for column in range(n_columns):
                factor = coefficients[output, column]
                if dense:
                    values = data[starts[column] + start : starts[column] + stop]
                    for i in range(stop - start):
                        dot[i] += factor * values[i]
                else:
                    entry = cursors[column]
                    while entry < starts[column + 1] and places[entry] < stop:
                        dot[places[entry] - start] += factor * data[entry]
                        entry += 1
            q_strip, y, mark = (q[output, start:stop], signs[output, start:stop], marks[output, start:stop])
            shift = eta * b[output]
            slack = 2.0 * eta
            rest = segment.rest_rows[output] - start
            special = 0.0
            if 0 <= rest < stop - start:
                x = y[rest] * (eta * dot[rest] + shift) + eta * segment.rests[output]
                x = min(max(x, -1.0), 1.0)
                special = q_strip[rest] * ((x * x - x) + 1.0)
            for i in range(stop - start):
                x = y[i] * (eta * dot[i] + shift) + slack * mark[i]
                x = 1.0 if x > 1.0 else x
                x = -1.0 if x < -1.0 else x
                q_strip[i] *= (x * x - x) + 1.0
            if 0 <= rest < stop - start:
                q_strip[rest] = special
            if weighted:
                total, difference = weighted_sums(q_strip, y, weights[start:stop])
            else:
                total, difference = strip_sums(q_strip, y, segment.signed)
            sums[output, strip, 0] = total
            sums[output, strip, 1] = difference
        if not dense:
            for column in range(n_columns):
                entry = cursors[column]
                while entry < starts[column + 1] and places[entry] < stop:
                    entry += 1
                cursors[column] = entry


def _rescale(q, factors, floor):  # type: ignore[no-untyped-def]
    for output in range(q.shape[0]):
        for i in range(q.shape[1]):
            if q[output, i] > 0.0:
                q[output, i] = max(q[output, i] * factors[output], floor)


def row_at(q: Any, weights: Any, sums: Any, strips: Any, first: int, last: int, left: float) -> int:
    """The row in strips ``first`` to ``last`` where the sum of the weighted q exceeds ``left``."""
    weighted = weights.shape[0] > 0
    strip = first
    # rounding may leave a rest, which the last nonempty entry takes
    for candidate in range(first, last):
        if sums[candidate, 0] > 0.0:
            strip = candidate
            if left < sums[candidate, 0]:
                break
            left -= sums[candidate, 0]
    place = int(strips[strip])
    for i in range(strips[strip], strips[strip + 1]):
        mass = q[i] * weights[i] if weighted else q[i]
        if mass > 0.0:
            place = i
            if left < mass:
                break
            left -= mass
    return place


def _draw(segment, seed, purpose, t, drawn):  # type: ignore[no-untyped-def]
    q, sums, strips, group_strips = segment.q, segment.sums, segment.strips, segment.group_strips
    numbers, n_outputs, totals, keys = segment.numbers, q.shape[0], drawn.sums, drawn.keys
    for group in range(numbers.shape[0]):
        for output in range(n_outputs):
            for which in range(2):
                total = 0.0
                for strip in range(group_strips[group], group_strips[group + 1]):
                    total += sums[output, strip, which]
                totals[group, output, which] = total
    for draw in range(keys.shape[0]):
        output = int(unit(philox(seed, purpose, t, draw, 0, 1)[0]) * n_outputs)
        keys[draw] = np.inf
        best = -1
        share = 0.0
        for group in range(numbers.shape[0]):
            total = totals[group, output, 0]
            if total > 0.0:
                words = philox(seed, purpose, t, draw, numbers[group], 0)
                key = -math.log(unit(words[0])) / total
                if key < keys[draw]:
                    keys[draw] = key
                    best = group
                    share = unit(words[1])
        place = start = 0
        drawn.groups[draw] = -1
        if best >= 0:
            drawn.groups[draw] = numbers[best]
            start = segment.offsets[best]
            first, last = group_strips[best], group_strips[best + 1]
            left = share * totals[best, output, 0]
            place = row_at(q[output], segment.weights, sums[output], strips, first, last, left)
        drawn.places[draw] = place - start
        for output in range(n_outputs):
            drawn.masses[draw, output] = q[output, place]
            if segment.weights.shape[0] > 0:
                drawn.masses[draw, output] *= segment.weights[place]
            drawn.signs[draw, output] = segment.signs[output, place]


def segment_type() -> Any:
    """The numba type of :class:`Segment`."""
    outputs = "f8[:, :]! i8[:, :]! i1[:, :]! f8[:]! i8[:]! u1[:, :]! i8[:]! f8[:]!"
    return tuple_type(Segment, f"{outputs} i8[:]! i8[:]! i8[:]! i8[:]! f8[:, :, :]! b1")


_SUMS: dict[str, Callable[..., Any]] = {"strip_sums": strip_sums, "weighted_sums": weighted_sums}


@cache
def add_up_loop() -> Callable[[Segment], None]:
    """Compile the sums of a segment."""
    return compile_loop(_add_up, (segment_type(),), helpers=_SUMS, exact=True)


@cache
def update_loop(dtype: np.dtype[Any]) -> Callable[..., None]:
    """Compile q *= 1 - eta v + eta^2 v^2 with v = clip(y (sum_c coef_c x_c + b) + xi, 1 / eta), and its sums.

    It takes a segment, columns (sorted places if sparse), coefficients (outputs, columns), b and eta, which
    is multiplied with each term of v rather than with v.
    """
    columns = tuple_type(GroupColumns, "x[:]! i4[:]! i8[:]! b1 i8", x=dtype)
    arguments = (segment_type(), columns, *argument_types("f8[:, :] f8[:] f8"))
    return compile_loop(_update, arguments, helpers=_SUMS, exact=True)


@cache
def rescale_loop() -> Callable[..., None]:
    """Compile q *= factor of the output, but at least a floor; zeros stay zero."""
    return compile_loop(_rescale, argument_types("f8[:, :]! f8[:] f8"), exact=True)


@cache
def draw_loop() -> Callable[..., None]:
    """Compile sums by groups and draws of round t: the group by an exponential race, its row by q."""
    drawn = tuple_type(Drawn, "f8[:, :, :]! f8[:]! i8[:]! f8[:, :]! i1[:, :]! i8[:]!")
    arguments = (segment_type(), *argument_types("u8 i8 i8"), drawn)
    helpers: dict[str, Callable[..., Any]] = {"philox": philox, "unit": unit, "row_at": row_at}
    return compile_loop(_draw, arguments, helpers=helpers, exact=True)
