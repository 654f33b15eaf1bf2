"""DSG, UDSG, CDSG and the greedy choice of blocks: objective against features and against seconds.

    python workflows/dsg/variants.py covtype.zarr --out variants --gamma median/8

Trains each variant by the command line with several step sizes and keeps, for each, the one with the lowest
objective at the end (the tuned step). Writes variants.json and an SVG each over features in use and over
seconds of training, and prints a table: objective and test error at the end, features, and what each variant
took to reach the objective that plain DSG ends with. The objective is the mean loss on a sample of the
training rows.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))
from curves import draw

VARIANTS = ("dsg", "udsg", "cdsg", "gdsg")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--gamma", default="median/8")
    parser.add_argument("--loss", default="logistic")
    parser.add_argument("--features", type=int, default=16384)
    parser.add_argument("--batches", type=int, default=64)
    parser.add_argument("--step", type=float, nargs="+", default=[0.25, 0.5, 1.0, 2.0])
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    best: dict[str, list[dict[str, Any]]] = {}
    steps = {}
    for variant in VARIANTS:
        runs = {step: run(options, variant, step) for step in options.step}
        steps[variant] = min(runs, key=lambda step: runs[step][-1]["objective"] if runs[step] else math.inf)
        best[variant] = runs[steps[variant]]
    (options.out / "variants.json").write_text(json.dumps(best, indent=1))
    target = best["dsg"][-1]["objective"]
    print(
        "| variant | step | objective | test error | features | seconds | features to DSG's | seconds to it |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for variant, curve in best.items():
        last = curve[-1]
        reached = next((line for line in curve if line["objective"] <= target), None)
        there = (
            ("not reached", "")
            if reached is None
            else (f"{reached['model_size']:,}", f"{reached['training_seconds']:.1f}")
        )
        print(
            f"| {variant} | {steps[variant]:g} | {last['objective']:.4f} | {last['test_error']:.2%} | "
            f"{last['model_size']:,} | {last['training_seconds']:.1f} | {there[0]} | {there[1]} |"
        )
    name = Path(options.data).stem
    for axis, title in (
        ("model_size", "random features in use"),
        ("training_seconds", "seconds of training"),
    ):
        lines = {
            f"{variant}, step {steps[variant]:g}": [(line[axis], line["objective"]) for line in curve[1:]]
            for variant, curve in best.items()
        }
        draw(options.out / f"{name}-{axis}.svg", f"Objective on {name}", title, "mean loss", lines)


def run(options: argparse.Namespace, variant: str, step: float) -> list[dict[str, Any]]:
    """The lines of metrics of one run, made unless it is there already; empty if it diverged."""
    out = options.out / "runs" / f"{Path(options.data).stem}-{variant}-{step:g}"
    if not (out / "model.json").exists():
        settings = [
            f"variant={variant}",
            f"step_size={step}",
            f"gamma={options.gamma}",
            f"loss={options.loss}",
            f"n_features={options.features}",
            "batch_size=4096",
            "block_size=256",
            "damping=1e-4",
            "stages=16",
            f"steps_per_stage={4096 * options.batches // 16}",
        ]
        chosen = [part for setting in settings for part in ("--set", setting)]
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "distkern",
                "train",
                "--data",
                options.data,
                "--algorithm",
                "dsg",
                "--out",
                str(out),
                "--scheduler",
                "threads",
                *chosen,
            ],
            stdout=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode:
            return []
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


if __name__ == "__main__":
    main()
