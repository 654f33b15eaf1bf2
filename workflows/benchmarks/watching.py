"""What events and checkpoints cost: the same fit with and without all that listens, in turns.

    python workflows/benchmarks/watching.py covtype.zarr --landmarks 143

Fits CSVRG + ODM with local worker processes: bare, and with everything that `distkern train` adds: a
checkpoint after every stage, metrics.jsonl, the terminal's lines and the dashboard's page. Prints the seconds
of both, and the share of the fit that the driver spent in checkpoints and in listeners, by its own clock: on
a shared machine the seconds of two fits differ by more than that.
"""

from __future__ import annotations

import argparse
import io
import statistics
import tempfile
import time
from pathlib import Path

import distkern
from distkern.engine.events import Event
from distkern.engine.executors import open_executor
from distkern.show.live.forward import Forwarder
from distkern.show.live.preload import install
from distkern.show.metrics import MetricsFile
from distkern.show.terminal import Terminal


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data")
    parser.add_argument("--landmarks", type=int, default=143)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--stages", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    train = distkern.open_dataset(options.data).train
    model = distkern.CSVRGClassifier(
        gamma=4.0,
        n_landmarks=options.landmarks,
        landmarks="uniform",
        stages=options.stages,
        tol=0.0,
        random_state=0,
    )
    shares = []
    with open_executor("local", workers=options.workers, dashboard=True) as executor:
        install(executor.client)
        model.fit_with(train, executor=executor)  # compiles
        for _ in range(options.repeats):
            start = time.perf_counter()
            model.fit_with(train, executor=executor)
            bare = time.perf_counter() - start
            with tempfile.TemporaryDirectory() as folder:
                facts = {"algorithm": "csvrg", "out": folder, "data": options.data}
                clock = Clock(
                    [
                        Terminal(io.StringIO()),
                        MetricsFile(Path(folder, "metrics.jsonl")),
                        Forwarder(executor.client, facts),
                    ]
                )
                start = time.perf_counter()
                model.fit_with(
                    train, executor=executor, listeners=[clock], checkpoints=Path(folder, "checkpoints")
                )
                watched = time.perf_counter() - start
            shares.append((clock.listening + clock.saving) / watched)
            print(
                f"bare {bare:.3f} s, watched {watched:.3f} s: checkpoints {1e3 * clock.saving:.0f} ms, "
                f"listeners {1e3 * clock.listening:.0f} ms, {shares[-1]:.1%}"
            )
    print(f"median share {statistics.median(shares):.1%}")


class Clock:
    """Passes events on to listeners, and keeps the seconds that these and checkpoints take."""

    def __init__(self, listeners: list) -> None:
        self._listeners = listeners
        self.listening = self.saving = 0.0

    def __call__(self, event: Event) -> None:
        start = time.perf_counter()
        for listener in self._listeners:
            listener(event)
        self.listening += time.perf_counter() - start
        if event.kind == "checkpoint_saved":
            self.saving += event["seconds"]


if __name__ == "__main__":
    main()
