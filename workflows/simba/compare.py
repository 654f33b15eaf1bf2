"""Test error of SIMBA and Pegasos against what they looked at: features, non-zero features, seconds.

    python workflows/simba/compare.py 20n.zarr --out curves --seeds 3

Trains both by the command line on one data set (made with --columns), each with every value of its trade-off
parameter and every seed; the parameter is then chosen by test error, as simba.txt does. Writes curves.json
and, for each of the three axes, an SVG of the lowest error with any parameter; prints what each method had
looked at when its error (mean over the seeds) was first within q times Pegasos' best. Passes that only
measure are counted in none of the three.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))
from curves import draw

AXES = {
    "feature_accesses": "features looked at (d a row, n a column)",
    "feature_accesses_nonzero": "non-zero features looked at",
    "training_seconds": "seconds of training",
}
QUOTIENTS = (1.5, 1.05)

Curve: TypeAlias = list[dict[str, float]]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--passes", type=float, default=10.0)
    parser.add_argument("--stages", type=int, default=60)
    parser.add_argument("--nu", type=float, nargs="+", default=[0.001, 0.002, 0.004])
    parser.add_argument("--lam", type=float, nargs="+", default=[1e-3, 1e-4, 1e-5])
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    families = {family: {} for family in ("SIMBA", "SIMBA, 16 x 16", "Pegasos")}
    for family, label, settings in methods(options):
        runs = [run(options, family, settings, seed) for seed in range(options.seeds)]
        families[family][label] = mean(runs)
    (options.out / "curves.json").write_text(json.dumps(families, indent=1))
    table(families)
    for axis, title in AXES.items():
        lines = {family: envelope(curves, axis) for family, curves in families.items()}
        draw(
            options.out / f"{axis}.svg",
            f"Test error on {Path(options.data).stem}",
            title,
            "test error",
            lines,
        )


def methods(options: argparse.Namespace) -> list[tuple[str, str, list[str]]]:
    """Family, label and settings of every run."""
    stages = f"stages={options.stages}"
    found = []
    for nu in options.nu:
        simba = [f"nu={nu}", stages, "patience=none", "validation_fraction=0.0"]
        found.append(("SIMBA", f"nu={nu:g}", [*simba, f"max_rounds={options.rounds}", "rows_per_round=1"]))
        batched = [f"max_rounds={options.rounds // 10}", "rows_per_round=16", "columns_per_round=16"]
        found.append(("SIMBA, 16 x 16", f"nu={nu:g}", [*simba, *batched]))
    for lam in options.lam:
        # a short run too, for the beginning of the curve
        for passes in (options.passes / 50, options.passes):
            settings = [f"lam={lam}", stages, f"steps_per_stage={passes / options.stages:.7f}"]
            found.append(("Pegasos", f"lam={lam:g}, {passes:g} passes", settings))
    return found


def run(options: argparse.Namespace, family: str, settings: list[str], seed: int) -> list[dict[str, Any]]:
    """The lines of metrics of one run, made unless it is there already."""
    algorithm = family.partition(",")[0].lower()
    out = options.out / "runs" / f"{algorithm}-{'-'.join(settings)}-{seed}"
    if not (out / "model.json").exists():
        chosen = [part for setting in settings for part in ("--set", setting)]
        subprocess.run(
            [
                sys.executable,
                "-m",
                "distkern",
                "train",
                "--data",
                options.data,
                "--algorithm",
                algorithm,
                "--out",
                str(out),
                "--seed",
                str(seed),
                "--scheduler",
                "threads",
                "--resume",
                *chosen,
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return [line for line in lines if line["feature_accesses"] > 0]


def mean(runs: list[list[dict[str, Any]]]) -> Curve:
    """Means over the seeds, stage by stage, as far as every run went."""
    return [
        {name: float(np.mean([line[name] for line in stage])) for name in (*AXES, "test_error")}
        for stage in zip(*runs, strict=False)
    ]


def envelope(curves: dict[str, Curve], axis: str) -> list[tuple[float, float]]:
    """The lowest error with any parameter at each place of the axis, or before it."""
    points = sorted((line[axis], line["test_error"]) for curve in curves.values() for line in curve)
    lowest = np.minimum.accumulate([error for _, error in points])
    return [(place, float(error)) for (place, _), error in zip(points, lowest, strict=True)]


def table(families: dict[str, dict[str, Curve]]) -> None:
    """Print what each family took to come within q times Pegasos' best error."""
    best = {
        family: min((min(line["test_error"] for line in curve), label) for label, curve in curves.items())
        for family, curves in families.items()
    }
    target = best["Pegasos"][0]
    print("| method | best test error | at | q | features | non-zero features | seconds |")
    print("|---|---|---|---|---|---|---|")
    for family, curves in families.items():
        for q in QUOTIENTS:
            cells = []
            for axis in AXES:
                reached = [
                    min((line[axis] for line in curve if line["test_error"] <= q * target), default=math.inf)
                    for curve in curves.values()
                ]
                cells.append(f"{min(reached):.2g}" if math.isfinite(min(reached)) else "not reached")
            print(f"| {family} | {best[family][0]:.2%} | {best[family][1]} | {q} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
