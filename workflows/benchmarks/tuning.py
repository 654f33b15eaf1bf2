"""A search whose trials share passes over the data, beside the same one trial after the other, and SGD.

    python workflows/benchmarks/tuning.py --rows 6000000 --columns 50

Four values of Pegasos' lam, one, two and four at a time, on rows of which a process keeps a half; each search
is a process of its own. The peer is scikit-learn's SGDClassifier with the same loss and as many passes for
each value, on rows that all lie in memory. Prints wall and CPU seconds, workers included, and the peer's CPU
seconds by ours.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from distkern.storage.ingest import write_dataset
from workflows.benchmarks.generated import dense
from workflows.processes import run

_STAGES = 5
_SEARCH = """
import sys
import distkern as dk
from distkern.engine.budget import Machine
from distkern.tuning import search, workshop
from distkern.tuning.candidate import Candidate
if __name__ == "__main__":
    path, stages, jobs, kept = sys.argv[1], *map(int, sys.argv[2:])
    Machine.cache_bytes = kept
    lams = (1e-6, 1e-5, 1e-4, 1e-3)
    made = [dk.PegasosClassifier(lam=lam, stages=stages, random_state=0) for lam in lams]
    tried = [Candidate(number, {"lam": one.lam}, one) for number, one in enumerate(made)]
    found = search.Search(tried, dk.open_dataset(path).train).run(workshop.Where("local", 2, jobs=jobs))
    print(f"{found[0].settings} {found[0].value:.4f}")
"""
_PEER = """
import sys
import numpy as np
import distkern as dk
from sklearn.linear_model import SGDClassifier
train = dk.open_dataset(sys.argv[1]).train
rows, labels = train[:], train.labels
order = np.random.default_rng(0).permutation(len(labels))
held_out, learned = np.split(order, [len(order) // 5])
errors = {}
for lam in (1e-6, 1e-5, 1e-4, 1e-3):
    model = SGDClassifier(alpha=lam, max_iter=int(sys.argv[2]), tol=None, average=True, random_state=0)
    errors[lam] = 1 - model.fit(rows[learned], labels[learned]).score(rows[held_out], labels[held_out])
best = min(errors, key=errors.get)
print(f"{{'lam': {best}}} {errors[best]:.4f}")
"""


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=6_000_000)
    parser.add_argument("--columns", type=int, default=50)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.zarr")
        write_dataset(dense(options.rows, options.columns), path, scale="none")
        kept = 2 * options.rows * options.columns
        peer = _timed("SGDClassifier in memory", folder, _PEER, path, _STAGES)
        for jobs in (1, 2, 4):
            own = _timed(f"{jobs} at a time", folder, _SEARCH, path, _STAGES, jobs, kept)
            print(f"    {peer / own:.2f} of the peer's speed")


def _timed(name: str, folder: str, program: str, path: Path, *numbers: int) -> float:
    file = Path(folder, "program.py")
    file.write_text(program)
    command = [sys.executable, str(file), str(path), *map(str, numbers)]
    facts, found = run(command, threads=1, limit=None)
    wall, cpu = facts["wall_seconds"], facts["cpu_seconds"]
    print(f"{name}: {wall:.1f} s, {cpu:.1f} CPU seconds: {found.strip()}", flush=True)
    return float(cpu)


if __name__ == "__main__":
    main()
