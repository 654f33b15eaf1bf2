"""What the report of growth says, from the measurements that there are."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from workflows.records import Record, Records
from workflows.report import Plot, Section, Table
from workflows.scale.rows import TARGETS
from workflows.scale.runs import JOBS, WORKERS

_MIB = 2**20
_HEADER = (
    "who",
    "rows",
    "error",
    "wall s",
    "CPU s",
    "worker MiB",
    "driver MiB",
    "MB on disk",
    "predict s",
    "worker MiB",
)


def sections(records: Records) -> list[Section]:
    """A section for each target, then exponents, other numbers of workers, and runs that were killed."""
    by_target = {target: _found(records, target) for target in TARGETS}
    parts: list[Section] = [_of_target(target, found) for target, found in by_target.items()]
    return [*parts, (_exponents(by_target), ()), _more_workers(records, by_target), (_killed(records), ())]


def _found(records: Records, target: str) -> dict[str, dict[int, Record]]:
    """Measurements by who and rows: ``shard`` first, then our jobs, then peers."""
    found: dict[str, dict[int, Record]] = defaultdict(dict)
    for key, one in records.under(""):
        who, of, n_rows = key.rsplit("/", 2)
        # a folder has runs of another kind
        if of == target and "/" not in who:
            found[who][int(n_rows)] = one
    order = ["shard", *JOBS]
    names = sorted(found, key=lambda who: (order.index(who) if who in order else len(order), who))
    return {who: dict(sorted(found[who].items())) for who in names}


def _of_target(target: str, found: dict[str, dict[int, Record]]) -> Section:
    rows, lines = [], {}
    for who, sizes in found.items():
        lines[who] = [(float(n), one["wall_seconds"]) for n, one in sizes.items() if "failed" not in one]
        rows += [(_name(who), f"{n:,}", *_cells(one, target)) for n, one in sizes.items()]
    what = "classes" if target == "class" else "a real target"
    text = (
        "Errors are shares of wrong labels; the lowest possible error is 5 %."
        if target == "class"
        else "Errors are root mean squared errors; the lowest possible error is .3."
    )
    lines = {who: points for who, points in lines.items() if points}
    plots = [Plot(f"scale-{target}", f"Wall seconds, {what}", "rows", "seconds", lines)] if lines else []
    return Table(f"Rows with {what}", text, _HEADER, rows), plots


def _cells(one: Record, target: str) -> tuple[str, ...]:
    if "failed" in one:
        return (one["failed"], *[""] * (len(_HEADER) - 3))
    error = one.get("error")
    digits = 2 if target == "class" else 4
    told = "" if error is None else f"{error * (100 if target == 'class' else 1):.{digits}f}"
    predicted = one.get("predict", {})
    return (
        told and f"{told}{' %' if target == 'class' else ''}",
        f"{one['wall_seconds']:.0f}",
        f"{one['cpu_seconds']:.0f}",
        _mib(one.get("worker_peak")),
        _mib(one.get("driver_peak")),
        f"{one['bytes'] / 1e6:.0f}" if "bytes" in one else "",
        f"{predicted['wall_seconds']:.0f}" if "wall_seconds" in predicted else predicted.get("failed", ""),
        _mib(predicted.get("worker_peak")),
    )


def _mib(number: int | None) -> str:
    return f"{number / _MIB:.0f}" if number else ""


def _name(who: str) -> str:
    return f"**{who}**" if who == "shard" or who in JOBS else who


def exponent(sizes: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """The exponent b of values = a n^b by least squares of the logarithms, and half its 95 % interval.

    Two sizes leave no interval: it is not a number.
    """
    x, y = np.log(sizes), np.log(values)
    slope, start = np.polyfit(x, y, 1)
    free = len(x) - 2
    if free < 1:
        return float(slope), math.nan
    from scipy.stats import t

    rest = float(np.square(y - start - slope * x).sum()) / free
    spread = math.sqrt(rest / float(np.square(x - x.mean()).sum()))
    return float(slope), float(t.ppf(0.975, free)) * spread


def _exponents(by_target: dict[str, dict[str, dict[int, Record]]]) -> Table:
    rows = []
    for target, found in by_target.items():
        for who, sizes in found.items():
            ended = {n: one for n, one in sizes.items() if "failed" not in one}
            if len(ended) < 2:
                continue
            cells = []
            for key in ("wall_seconds", "cpu_seconds", "worker_peak", "driver_peak", "bytes"):
                values = [one.get(key) or 0 for one in ended.values()]
                cells.append(_interval(list(ended), values) if all(values) else "")
            rows.append((_name(who), target, f"{min(ended):,} to {max(ended):,}", *cells))
    text = "b of n^b with a 95 % interval: 1 is growth in proportion to the rows, 0 no growth."
    header = ("who", "target", "rows", "wall s", "CPU s", "worker's peak", "driver's peak", "bytes on disk")
    return Table("Exponents of growth", text, header, rows)


def _interval(sizes: Sequence[float], values: Sequence[float]) -> str:
    slope, half = exponent(sizes, values)
    # no sign of zero
    slope = round(slope, 2) + 0.0
    return f"{slope:.2f}" if math.isnan(half) else f"{slope:.2f} ± {half:.2f}"


def _more_workers(records: Records, by_target: dict[str, dict[str, dict[int, Record]]]) -> Section:
    """Return measurements with other numbers of workers, beside the usual ones."""
    found: dict[tuple[str, str, int], dict[int, Record]] = defaultdict(dict)
    for key, one in records.under(""):
        number, _, rest = key.partition("/")
        if number.startswith("workers-"):
            who, target, n_rows = rest.rsplit("/", 2)
            if "/" not in who:
                found[target, who, int(n_rows)][int(number.removeprefix("workers-"))] = one
    rows, lines = [], {}
    for (target, who, n_rows), numbers in sorted(found.items()):
        usual = by_target[target].get(who, {}).get(n_rows)
        if usual:
            numbers[WORKERS] = usual
        ended = {n_workers: one["wall_seconds"] for n_workers, one in numbers.items() if "failed" not in one}
        bits = [one["bits"] for one in numbers.values() if "bits" in one]
        same = "" if len(bits) < 2 else "the same bits" if len(set(bits)) == 1 else "OTHER BITS"
        for n_workers, one in sorted(numbers.items()):
            names = (_name(who), target, f"{n_rows:,}", f"{n_workers}")
            if "failed" in one:
                rows.append((*names, one["failed"], *[""] * 6))
                continue
            faster = ended[min(ended)] / one["wall_seconds"]
            predicted = one.get("predict", {}).get("wall_seconds")
            rows.append(
                (
                    *names,
                    f"{one['wall_seconds']:.0f}",
                    f"{one['cpu_seconds']:.0f}",
                    f"{faster:.1f}",
                    f"{100 * faster * min(ended) / n_workers:.0f} %",
                    _mib(one.get("driver_peak")),
                    same,
                    "" if predicted is None else f"{predicted:.0f}",
                )
            )
        if len(ended) > 1:
            points = [(float(n_workers), seconds) for n_workers, seconds in sorted(ended.items())]
            lines[f"{who}, {target}, {n_rows:,} rows"] = points
    header = (
        "who",
        "target",
        "rows",
        "workers",
        "wall s",
        "CPU s",
        "times as fast",
        "of proportion",
        "driver MiB",
        "model",
        "predict s",
    )
    text = (
        "Speed relative to the fewest workers, and its share of a speed-up in proportion to the "
        "workers. LightGBM uses the same number of threads."
    )
    plots = [Plot("workers", "Wall seconds by workers", "workers", "seconds", lines)] if lines else []
    return Table("More workers", text, header, rows), plots


def _killed(records: Records) -> Table:
    rows = [
        (
            _name(key.split("/")[-3]),
            key.split("/")[-2],
            f"{one['asked']['rows']:,}",
            f"{one['asked'].get('workers', WORKERS)}",
            f"{one.get('killed', '')}",
            f"{one['all_seconds']:.0f}" if "all_seconds" in one else "",
            one.get("failed") or ("the same bits" if one["same_bits"] else "OTHER BITS"),
        )
        for key, one in records.under("")
        if "killed" in key.split("/")[:-3]
    ]
    header = ("who", "target", "rows", "workers", "kills", "wall s", "model")
    text = (
        "Driver and workers are killed by SIGKILL, each time after something new was stored and up "
        "to 1 / (kills + 1) of the run's seconds later. Seconds are the sum over all attempts."
    )
    return Table("Killed and resumed", text, header, rows)
