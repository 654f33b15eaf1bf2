"""What distkern costs over the same mathematics in one process, in memory.

    python workflows/benchmarks/overhead.py covtype.zarr --landmarks 143

Fits CSVRG + ODM to a sharded data set (two classes) with local worker processes, and runs `twin.py` on the
same rows as arrays; prints both times (start-up, that is processes and compilation, apart), their ratio, the
ratio of the snapshot passes alone, and where the time goes.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import threadpoolctl
from twin import Twin

import distkern
from distkern.engine.executors import open_executor


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data")
    parser.add_argument("--landmarks", type=int, default=143)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--stages", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--scheduler", default="local")
    options = parser.parse_args()

    train = distkern.open_dataset(options.data).train
    settings = {"gamma": 4.0, "lam": 1024.0, "theta": 0.8, "mu": 0.4}
    model = distkern.CSVRGClassifier(
        projection=True,
        **settings,
        n_landmarks=options.landmarks,
        landmarks="uniform",
        stages=options.stages,
        steps_per_stage=1.0,
        tol=0.0,
        random_state=0,
    )
    blocks = [train.reader(index)() for index in range(train.n_blocks)]
    features = np.concatenate([block.features for block in blocks])
    signs = (2 * np.concatenate([block.targets for block in blocks]) - 1).astype(np.float32)

    ours, theirs, passes = [], [], []
    with open_executor(options.scheduler, workers=options.workers) as executor:
        model.fit_with(train, executor=executor)  # compiles
        twin = Twin(model.landmarks_, **settings)
        run_twin(twin, features, signs, 1)
        for _ in range(options.repeats):
            events: list = []
            start = time.perf_counter()
            model.fit_with(train, executor=executor, listeners=[events.append])
            ours.append(time.perf_counter() - start)
            passes.append([event for event in events if event.kind == "pass_finished"])
            twin = Twin(model.landmarks_, **settings)
            theirs.append((run_twin(twin, features, signs, options.stages), twin.seconds))
    report(options, train, ours, theirs, passes)


def run_twin(twin: Twin, features: np.ndarray, signs: np.ndarray, stages: int) -> float:
    """Seconds of a whole fit."""
    start = time.perf_counter()
    with threadpoolctl.threadpool_limits(1):
        sigma = np.zeros(len(twin.landmarks))
        for stage in range(stages):
            order = np.random.default_rng(stage).permutation(len(features))
            sigma = twin.stage(features, signs, sigma, order)
        twin.snapshot(features, signs, sigma)  # the figures at the end
    return time.perf_counter() - start


def report(options, train, ours, theirs, passes) -> None:  # type: ignore[no-untyped-def]
    """Medians and ratios pair by pair."""
    print(
        f"{train.n_rows:,} rows x {train.n_features}, {options.landmarks} landmarks, "
        f"{options.stages} stages, {options.scheduler} with {options.workers} workers, "
        f"{options.repeats} pairs"
    )
    ratios = [mine / other for mine, (other, _) in zip(ours, theirs, strict=True)]
    line("fit", np.median(ours), np.median([other for other, _ in theirs]), ratios)
    mine = [np.median([e["seconds"] for e in run if e["name"] == "snapshot"]) for run in passes]
    other = [split["snapshot"] / (options.stages + 1) for _, split in theirs]
    line(
        "snapshot pass", np.median(mine), np.median(other), [a / b for a, b in zip(mine, other, strict=True)]
    )
    for name in ("snapshot", "inner loop"):
        chosen = [event for event in passes[-1] if event["name"] == name]
        split = {key: sum(e["split_seconds"][key] for e in chosen) for key in chosen[0]["split_seconds"]}
        words = ", ".join(f"{key} {value:.3f}" for key, value in split.items())
        print(
            f"  {name}: {len(chosen)} passes, {sum(e['seconds'] for e in chosen):.3f} s "
            f"({chosen[0]['mode']}); busy seconds: {words}"
        )
    print("  twin: " + ", ".join(f"{key} {value:.3f}" for key, value in theirs[-1][1].items()))


def line(name: str, mine: float, other: float, ratios: list[float]) -> None:
    """One comparison."""
    print(
        f"{name}: {mine:.3f} s against {other:.3f} s, ratio {np.median(ratios):.2f} "
        f"({min(ratios):.2f} .. {max(ratios):.2f})"
    )


if __name__ == "__main__":
    main()
