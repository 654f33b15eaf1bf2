"""The tables of the report, from the measurements that there are."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

from workflows.benchmarks import billion
from workflows.benchmarks.registry import METHODS
from workflows.benchmarks.simulation import grown, line
from workflows.records import Record, Records
from workflows.report import Plot, Table

#: rivals in the table of losses
_RIVALS = ("lightgbm", "xgboost", "hist_gradient_boosting")


def limits(machine: Record) -> Table:
    """What the machine can do."""
    rows = [
        ("sgemm, one thread", f"{machine['sgemm_flops'] / 1e9:.0f} Gflop/s"),
        ("Z' Z of float32, one thread (half is made)", f"{machine['syrk_flops'] / 1e9:.0f} Gflop/s"),
        ("exp of float32, one thread", f"{machine['exp_numbers'] / 1e6:.0f} M/s"),
        ("copy of memory", f"{machine['copy_bytes'] / 1e9:.1f} GB/s"),
        ("reading a file, cold", f"{machine['read_bytes'] / 1e9:.2f} GB/s"),
        ("reading a file, warm", f"{machine['cached_read_bytes'] / 1e9:.2f} GB/s"),
    ]
    text = f"{machine['cores']} cores, {machine['processor']}, measured in the same run as everything below."
    return Table("The machine", text, ("what", "rate"), rows)


def compared(records: Records) -> dict[str, dict[str, Record]]:
    """Measurements by data set and method."""
    found: dict[str, dict[str, Record]] = defaultdict(dict)
    for key, record in records.under("compare"):
        data, method = key.split("/")
        found[data][method] = record
    for key, record in records.under("choose"):
        data, method = key.split("/")
        if "failed" in record:
            found[data].setdefault(method, record)
    return dict(found)


def comparison(data: str, methods: dict[str, Record], task: str) -> tuple[Table, list[Plot]]:
    """One data set."""
    done = {name: record for name, record in methods.items() if "failed" not in record}
    ordered = sorted(done.items(), key=lambda pair: pair[1]["error"])
    rows = [
        (
            f"**{name}**" if name in METHODS and METHODS[name].ours else name,
            f"{one['error']:.5g}",
            f"{one['wall_seconds']:.1f}",
            f"{one['cpu_seconds']:.1f}",
            f"{one['predict_seconds']:.2f}",
            f"{one['peak_bytes'] / 2**20:.0f}",
            f"{one['rows']:,}",
            settings_text(one["settings"]),
        )
        for name, one in ordered
    ]
    rows += [
        (name, "", "", "", "", "", "", record["failed"])
        for name, record in methods.items()
        if name not in done
    ]
    measure = "RMSE" if task == "regression" else "share of wrong classes"
    table = Table(
        data,
        f"Error: {measure} on the test rows. Seconds cover the fit; memory is the peak of the process.",
        ("method", "error", "wall s", "CPU s", "predict s", "peak MiB", "rows", "settings"),
        rows,
    )
    if not done:
        return table, []
    seconds = {name: [(one["cpu_seconds"], one["error"])] for name, one in ordered}
    memory = {name: [(one["peak_bytes"] / 2**20, one["error"])] for name, one in ordered}
    return table, [
        Plot(
            f"{data}-seconds",
            f"{data}: error against CPU seconds of the fit",
            "CPU seconds",
            "error",
            seconds,
        ),
        Plot(f"{data}-memory", f"{data}: error against memory", "peak MiB", "error", memory),
    ]


def losses(found: dict[str, dict[str, Record]], reasons: dict[str, str]) -> Table:
    """Data sets on which a tree method has less error than the best of ours, or the same in less time."""
    rows = []
    for data, methods in found.items():
        done = {name: one for name, one in methods.items() if "failed" not in one}
        own = {name: one for name, one in done.items() if name in METHODS and METHODS[name].ours}
        for rival in (name for name in done if name in _RIVALS):
            if not own:
                continue
            their = done[rival]
            as_good = {name: one for name, one in own.items() if one["error"] <= their["error"]}
            best = min(as_good or own, key=lambda name: own[name]["cpu_seconds" if as_good else "error"])
            ours = own[best]
            if as_good and ours["cpu_seconds"] <= their["cpu_seconds"]:
                continue
            rows.append(
                (
                    data,
                    rival,
                    f"{their['error']:.5g} in {their['cpu_seconds']:.1f} s",
                    f"{best}: {ours['error']:.5g} in {ours['cpu_seconds']:.1f} s",
                    f"{ours['cpu_seconds'] / their['cpu_seconds']:.2g}",
                    "time" if as_good else "error",
                    reasons.get(data, ""),
                )
            )
    text = (
        "Data sets on which no method of this package reaches the error of a tree method within its CPU "
        "seconds."
    )
    header = (
        "data",
        "against",
        "theirs",
        "ours",
        "times their CPU s",
        "lost in",
        ("reason, and what was tried"),
    )
    return Table("Where we lose", text, header, rows)


def centres(records: Records, facts: dict[str, Record], machine: Record | None) -> tuple[Table, list[Plot]]:
    """Machines over equal centres."""
    rows, plots, lines = [], [], defaultdict(lambda: defaultdict(list))
    equations = {}
    every = [(key.split("/"), one) for key, one in records.under("centres") if "failed" not in one]
    for (data, name), one in every:
        if name.startswith("normal_equations-"):
            equations[data, one["settings"]["n_landmarks"]] = one
    for (data, name), one in sorted(every, key=lambda pair: (pair[0][0], pair[1]["settings"]["n_landmarks"])):
        label, number = name.rsplit("-", 1)[0], one["settings"]["n_landmarks"]
        lines[data][label].append((one["cpu_seconds"], one["error"]))
        base = equations.get((data, number))
        times = f"{one['cpu_seconds'] / base['cpu_seconds']:.2f}" if base else ""
        rows.append((data, f"{number}", label, f"{one['error']:.4f}", f"{one['cpu_seconds']:.1f}", times))
    for data, own in lines.items():
        drawn = {label: sorted(points) for label, points in own.items()}
        if machine is not None and data in facts:
            n, d = facts[data]["n_train"], facts[data]["n_features"]
            errors = [error for points in own.values() for _, error in points]
            for number in sorted({number for key, number in equations if key == data}):
                floor = n * number * (2 * d / machine["sgemm_flops"] + 1 / machine["exp_numbers"])
                drawn[f"sgemm + exp, {number}"] = [(floor, min(errors)), (floor, max(errors))]
        title = f"{data}: error against CPU seconds at 256, 1024, 4096 centres"
        plots.append(Plot(f"{data}-centres", title, "CPU seconds", "error", drawn))
    text = (
        "All methods use the same number of landmarks and the same width. The last column divides CPU "
        "seconds by those of the normal equations. The lines show one pass of kernel values at the "
        "machine's own rates."
    )
    header = ("data", "centres", "method", "error", "CPU s", "times the equations'")
    return Table("Equal numbers of centres", text, header, rows), plots


def simulation(records: Records) -> tuple[Table, list[Plot]]:
    """Overheads as workers grow."""
    found = grown(records)
    rows = [
        (
            f"{number}",
            f"{one['tasks']}",
            f"{1e3 * one['pass_seconds']:.1f}",
            f"{1e3 * one['pass_seconds'] / one['tasks']:.2f}",
            f"{1e3 * one['driver_cpu_seconds_of_pass']:.1f}",
            f"{1e3 * one['round_seconds']:.2f}",
            f"{1e3 * one['round_driver_seconds']:.2f}",
            f"{1e3 * one['round_driver_cpu_seconds']:.2f}",
            one["round_mode"],
        )
        for number, one in found
    ]
    text = "Worker processes of one thread on this machine's cores, with blocks of 64 rows: overhead alone."
    header = (
        "workers",
        "tasks of a pass",
        "pass ms",
        "ms a task",
        "driver CPU ms of a pass",
        "round ms",
        "solver's ms of a round",
        "driver CPU ms of a round",
        "mode",
    )
    if found:
        start, each = line([one["tasks"] for _, one in found], [one["pass_seconds"] for _, one in found])
        text += f" A pass takes about {1e3 * start:.0f} ms and {1e3 * each:.2f} ms a task."
    lines = {
        "pass": [(float(n), 1e3 * one["pass_seconds"]) for n, one in found],
        "round": [(float(n), 1e3 * one["round_seconds"]) for n, one in found],
    }
    plots = [Plot("simulation", "Milliseconds as workers grow", "workers", "ms", lines)] if found else []
    return Table("Many workers, simulated", text, header, rows), plots


def billions(records: Records) -> Table:
    """The table of 10^9 rows."""
    rows = [
        (
            one["algorithm"],
            f"{one['workers']}",
            *(f"{one[part]:,.0f}" for part in ("reading", "computing", "moving", "driver", "total")),
            one["largest"],
            one["first"],
        )
        for one in billion.table(records)
    ]
    text = (
        "Seconds, from the rates above: each worker has one core and a disk of its own at the cold rate, "
        f"and {billion.NETWORK * 8 / 1e9:.0f} Gbit/s of network. Computing is products and exponentials "
        "alone. Nothing was measured at this size."
    )
    header = (
        "algorithm",
        "workers",
        "reading",
        "computing",
        "moving",
        "driver",
        "total",
        "largest",
        "what breaks first",
    )
    return Table("10^9 rows of 50 numbers, extrapolated", text, header, rows)


def facts_of(folder: Path) -> dict[str, Record]:
    """Facts of the data sets whose rows were exported."""
    return {path.parent.name: json.loads(path.read_text()) for path in sorted(folder.glob("*/facts.json"))}


def settings_text(settings: Record) -> str:
    """In a few words."""
    parts = (
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in settings.items()
    )
    return ", ".join(parts) or "defaults"
