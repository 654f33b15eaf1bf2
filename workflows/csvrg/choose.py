"""Choose hyperparameters on a validation part of the training rows, as csvrg.txt does, with dask-ml's search.

    python workflows/csvrg/choose.py covtype.zarr --n-landmarks 143 --landmarks uniform --rows 9000

Draws that many rows from the training split (never from the test split), holds out a third of them, and
searches
gamma, lam, theta and mu at random over the paper's ranges, widened upwards for lam because the best was at
the top. Prints the best as the [params] of a job file.
"""

from __future__ import annotations

import argparse

import numpy as np
from dask_ml.model_selection import RandomizedSearchCV
from sklearn.model_selection import ShuffleSplit

import distkern

RANGES = {"gamma": [2.0**power for power in range(-6, 5)], "lam": [2.0**power for power in range(5, 16)]}
OF_ODM = {"theta": [0.2, 0.4, 0.6, 0.8], "mu": [0.2, 0.4, 0.6, 0.8]}


def sample(split, n_rows: int, seed: int):  # type: ignore[no-untyped-def]
    """Rows and labels from random shards of a split."""
    generator = np.random.default_rng(seed)
    blocks, found = [], 0
    for index in generator.permutation(split.n_blocks):
        block = split.reader(int(index))()
        chosen = generator.permutation(block.n_rows)[: -(-n_rows // min(8, split.n_blocks))]
        blocks.append(block.take(np.sort(chosen)))
        found += len(chosen)
        if found >= n_rows:
            break
    features = np.concatenate([block.features for block in blocks])[:n_rows]
    return features, np.concatenate([block.targets for block in blocks])[:n_rows]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data")
    parser.add_argument("--algorithm", choices=["csvrg", "avm"], default="csvrg")
    parser.add_argument("--n-landmarks", type=int, required=True)
    parser.add_argument("--landmarks", default="uniform")
    parser.add_argument("--rows", type=int, default=9000)
    parser.add_argument("--candidates", type=int, default=150)
    parser.add_argument("--stages", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    features, codes = sample(distkern.open_dataset(options.data).train, options.rows, options.seed)
    kind = {"csvrg": distkern.CSVRGClassifier, "avm": distkern.AVMClassifier}[options.algorithm]
    model = kind(
        n_landmarks=options.n_landmarks,
        landmarks=options.landmarks,
        stages=options.stages,
        projection=True,
        random_state=options.seed,
    )
    ranges = RANGES | (OF_ODM if model.loss == "odm" else {})
    search = RandomizedSearchCV(
        model,
        ranges,
        n_iter=options.candidates,
        random_state=options.seed,
        refit=False,
        cv=ShuffleSplit(1, test_size=1 / 3, random_state=options.seed),
        scheduler="threads",
        n_jobs=2,
    )
    search.fit(features, codes)
    order = np.argsort(-search.cv_results_["mean_test_score"])
    for rank in order[:5]:
        print(f"# {search.cv_results_['mean_test_score'][rank]:.4f} {search.cv_results_['params'][rank]}")
    print("[params]")
    for name, value in search.cv_results_["params"][order[0]].items():
        print(f"{name} = {value}")


if __name__ == "__main__":
    main()
