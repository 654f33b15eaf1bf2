"""The compiled loops of SIMBA over the rows of some groups: multiplicative update, sums, draws, selection.

Rows are cut into strips that never cross groups. Every sum is that of a strip, added in the order of its
rows in eight interleaved runs, then of the strips of a group: the bits depend on the group alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from distkern.common.compiled import array_type, compile_loop
from distkern.common.philox import philox, unit

#: rows of a strip
STRIP = 1024
#: what a draw is for, the last number of its counter
RACE, LANE = 0, 1


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


def _add_up(q, signs, strips, signed, sums):  # type: ignore[no-untyped-def]
    for lane in range(q.shape[0]):
        own = signs[lane % signs.shape[0]]
        for strip in range(strips.shape[0] - 1):
            start, stop = strips[strip], strips[strip + 1]
            total, difference = strip_sums(q[lane, start:stop], own[start:stop], signed)
            sums[lane, strip, 0] = total
            sums[lane, strip, 1] = difference


def _update(  # type: ignore[no-untyped-def]
    q,
    signs,
    marks,
    rest_rows,
    rests,
    strips,
    dots,
    cursors,
    data,
    places,
    starts,
    dense,
    coefficients,
    b,
    eta,
    signed,
    sums,
):
    n_columns = starts.shape[0] - 1
    for column in range(n_columns):
        cursors[column] = starts[column]
    for strip in range(strips.shape[0] - 1):
        start, stop = strips[strip], strips[strip + 1]
        dot = dots[: stop - start]
        for lane in range(q.shape[0]):
            for i in range(stop - start):
                dot[i] = 0.0
            for column in range(n_columns):
                factor = coefficients[lane, column]
                if dense:
                    values = data[starts[column] + start : starts[column] + stop]
                    for i in range(stop - start):
                        dot[i] += factor * values[i]
                else:
                    entry = cursors[column]
                    while entry < starts[column + 1] and places[entry] < stop:
                        dot[places[entry] - start] += factor * data[entry]
                        entry += 1
            q_strip, y, mark = (
                q[lane, start:stop],
                signs[lane % signs.shape[0], start:stop],
                marks[lane, start:stop],
            )
            shift = eta * b[lane]
            slack = 2.0 * eta
            rest = rest_rows[lane] - start
            special = 0.0
            if 0 <= rest < stop - start:
                x = y[rest] * (eta * dot[rest] + shift) + eta * rests[lane]
                x = min(max(x, -1.0), 1.0)
                special = q_strip[rest] * ((x * x - x) + 1.0)
            for i in range(stop - start):
                x = y[i] * (eta * dot[i] + shift) + slack * mark[i]
                x = 1.0 if x > 1.0 else x
                x = -1.0 if x < -1.0 else x
                q_strip[i] *= (x * x - x) + 1.0
            if 0 <= rest < stop - start:
                q_strip[rest] = special
            total, difference = strip_sums(q_strip, y, signed)
            sums[lane, strip, 0] = total
            sums[lane, strip, 1] = difference
        if not dense:
            for column in range(n_columns):
                entry = cursors[column]
                while entry < starts[column + 1] and places[entry] < stop:
                    entry += 1
                cursors[column] = entry


def _group_sums(sums, group_strips, totals):  # type: ignore[no-untyped-def]
    for group in range(totals.shape[0]):
        for lane in range(totals.shape[1]):
            for which in range(2):
                total = 0.0
                for strip in range(group_strips[group], group_strips[group + 1]):
                    total += sums[lane, strip, which]
                totals[group, lane, which] = total


def _rescale(q, factors, floor):  # type: ignore[no-untyped-def]
    for lane in range(q.shape[0]):
        for i in range(q.shape[1]):
            if q[lane, i] > 0.0:
                q[lane, i] = max(q[lane, i] * factors[lane], floor)


def _race(q, sums, strips, group_strips, numbers, seed, purpose, t, keys, winners, places):  # type: ignore[no-untyped-def]
    n_lanes = q.shape[0]
    for draw in range(keys.shape[0]):
        lane = int(unit(philox(seed, purpose, t, draw, 0, 1)[0]) * n_lanes)
        keys[draw] = np.inf
        best = -1
        share = 0.0
        mass = 0.0
        for group in range(numbers.shape[0]):
            total = 0.0
            for strip in range(group_strips[group], group_strips[group + 1]):
                total += sums[lane, strip, 0]
            if total > 0.0:
                words = philox(seed, purpose, t, draw, numbers[group], 0)
                key = -math.log(unit(words[0])) / total
                if key < keys[draw]:
                    keys[draw] = key
                    best = group
                    share = unit(words[1])
                    mass = total
        if best < 0:
            continue
        winners[draw] = numbers[best]
        left = share * mass
        strip = group_strips[best]
        # sums may end a rounding error short of the mass, so the last that is not empty takes what is left
        for candidate in range(group_strips[best], group_strips[best + 1]):
            if sums[lane, candidate, 0] > 0.0:
                strip = candidate
                if left < sums[lane, candidate, 0]:
                    break
                left -= sums[lane, candidate, 0]
        place = strips[strip]
        for i in range(strips[strip], strips[strip + 1]):
            if q[lane, i] > 0.0:
                place = i
                if left < q[lane, i]:
                    break
                left -= q[lane, i]
        places[draw] = place


def _count(keys, modes, lows, shifts, above, counts):  # type: ignore[no-untyped-def]
    for lane in range(keys.shape[0]):
        if modes[lane] == 1:
            low, shift = lows[lane], shifts[lane]
            for i in range(keys.shape[1]):
                key = keys[lane, i]
                if key > 0 and key >= low:
                    place = (key - low) >> shift
                    if place < counts.shape[1]:
                        counts[lane, place] += 1
                    else:
                        above[lane] += 1


def _gather(keys, modes, lows, shifts, found, rows, ends):  # type: ignore[no-untyped-def]
    end = 0
    for lane in range(keys.shape[0]):
        if modes[lane] == 2:
            for i in range(keys.shape[1]):
                key = keys[lane, i]
                if key > 0 and key >= lows[lane] and (key - lows[lane]) >> shifts[lane] == 0:
                    found[end] = key
                    rows[end] = i
                    end += 1
        ends[lane] = end


def _mark(keys, offsets, numbers, thresholds, groups, ties, marks, rest_rows):  # type: ignore[no-untyped-def]
    for lane in range(keys.shape[0]):
        threshold = thresholds[lane]
        rest_rows[lane] = -1
        for group in range(numbers.shape[0]):
            start, stop = offsets[group], offsets[group + 1]
            if numbers[group] == groups[lane]:
                left = ties[lane]
                for i in range(start, stop):
                    marks[lane, i] = keys[lane, i] > threshold
                    if keys[lane, i] == threshold:
                        if left > 0:
                            marks[lane, i] = 1
                        elif left == 0:
                            rest_rows[lane] = i
                        left -= 1
            else:
                least = threshold if numbers[group] < groups[lane] else threshold + 1
                for i in range(start, stop):
                    marks[lane, i] = keys[lane, i] >= least


def _types() -> tuple[Any, ...]:
    import numba

    def array(dtype: Any, n_dimensions: int, *, writable: bool = True) -> Any:
        return array_type(dtype, n_dimensions, writable=writable)

    return array, numba.int64, numba.float64, numba.boolean


@cache
def add_up_loop() -> Callable[..., None]:
    """Sums of q (lanes, n) and of q y over the strips into ``sums`` (lanes, n_strips, 2)."""
    array, _, _, flag = _types()
    arguments = (array("f8", 2), array("i1", 2), array("i8", 1), flag, array("f8", 3))
    return compile_loop(_add_up, arguments, helpers={"strip_sums": strip_sums}, exact=True)


@cache
def update_loop(dtype: np.dtype[Any]) -> Callable[..., None]:
    """q *= 1 - eta v + eta^2 v^2 in every lane with v = clip(y (sum_c coef_c x_c + b) + xi, 1 / eta); sums.

    Takes q (lanes, n), signs (outputs, n), marks (lanes, n) with xi = 2 where they are 1, the row of each
    lane that has xi = ``rests`` (-1: none), strips, buffers ``dots`` (rows of a strip) and ``cursors``
    (columns,), the columns (``data``, ``places`` and ``starts``; dense ones without places, the places of
    others in order), coefficients (lanes, columns), b, eta, and whether sums of q y are wanted. Eta is
    multiplied with each term of v rather than with v.
    """
    array, _, number, flag = _types()
    arguments = (
        array("f8", 2),
        array("i1", 2),
        array("u1", 2),
        array("i8", 1),
        array("f8", 1, writable=False),
        array("i8", 1),
        array("f8", 1),
        array("i8", 1),
        array(dtype, 1, writable=False),
        array("i4", 1, writable=False),
        array("i8", 1, writable=False),
        flag,
        array("f8", 2, writable=False),
        array("f8", 1, writable=False),
        number,
        flag,
        array("f8", 3),
    )
    return compile_loop(_update, arguments, helpers={"strip_sums": strip_sums}, exact=True)


@cache
def group_sums_loop() -> Callable[..., None]:
    """The sums of strips added up by groups: (groups, lanes, 2)."""
    array, _, _, _ = _types()
    arguments = (array("f8", 3, writable=False), array("i8", 1, writable=False), array("f8", 3))
    return compile_loop(_group_sums, arguments, exact=True)


@cache
def rescale_loop() -> Callable[..., None]:
    """q *= factor of the lane, but not below a floor; a zero stays zero."""
    array, _, number, _ = _types()
    return compile_loop(_rescale, (array("f8", 2), array("f8", 1, writable=False), number), exact=True)


@cache
def race_loop() -> Callable[..., None]:
    """For every draw of round t the first of some groups in an exponential race, and a row of it by q."""
    import numba

    array, whole, _, _ = _types()
    arguments = (
        array("f8", 2),
        array("f8", 3),
        array("i8", 1),
        array("i8", 1),
        array("i8", 1),
        numba.uint64,
        whole,
        whole,
        array("f8", 1),
        array("i8", 1),
        array("i8", 1),
    )
    return compile_loop(_race, arguments, helpers={"philox": philox, "unit": unit}, exact=True)


@cache
def count_loop() -> Callable[..., None]:
    """Histogram of positive keys: bins of 2^shift from low on, and how many lie above them."""
    array, _, _, _ = _types()
    arguments = (
        array("i8", 2),
        array("i1", 1, writable=False),
        array("i8", 1, writable=False),
        array("i8", 1, writable=False),
        array("i8", 1),
        array("i8", 2),
    )
    return compile_loop(_count, arguments, exact=True)


@cache
def gather_loop() -> Callable[..., None]:
    """Positive keys of the first bin with their rows, lane after lane."""
    array, _, _, _ = _types()
    arguments = (
        array("i8", 2),
        array("i1", 1, writable=False),
        array("i8", 1, writable=False),
        array("i8", 1, writable=False),
        array("i8", 1),
        array("i8", 1),
        array("i8", 1),
    )
    return compile_loop(_gather, arguments, exact=True)


@cache
def mark_loop() -> Callable[..., None]:
    """Mark the rows before a place in the order (key falling, group, row), and find the row at the place."""
    array, _, _, _ = _types()
    arguments = (
        array("i8", 2),
        array("i8", 1),
        array("i8", 1),
        array("i8", 1, writable=False),
        array("i8", 1, writable=False),
        array("i8", 1, writable=False),
        array("u1", 2),
        array("i8", 1),
    )
    return compile_loop(_mark, arguments, exact=True)
