"""scikit-learn's approximations on the same rows: what the job files of this folder are compared with.

    python workflows/dsg/peers.py covtype.zarr --features 49152 --gamma 8.4 --seconds 200
    python workflows/dsg/peers.py kin40k.zarr --features 2048 --gamma 0.1

Classification: RBFSampler + SGDClassifier, trained by partial_fit on tiles of rows whose features are made as
they are needed, pass after pass until the seconds are over; the best test error of several alpha is its best.
Regression: Nystroem + Ridge, the best of several alpha by the test error. Prints one line for each.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import threadpoolctl
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import Ridge, SGDClassifier

import distkern

_TILE = 4096


def load(split) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[no-untyped-def]
    """All rows and targets of a split."""
    blocks = [split.reader(index)() for index in range(split.n_blocks)]
    features = np.concatenate([block.features for block in blocks])
    return features, np.concatenate([block.targets for block in blocks])


def classify(options: argparse.Namespace, dataset) -> None:  # type: ignore[no-untyped-def]
    """RBFSampler + SGDClassifier, one alpha after the other, each for its share of the seconds."""
    features, codes = load(dataset.train)
    fresh, truth = load(dataset.test)
    fresh, truth = fresh[: options.test_rows], truth[: options.test_rows]
    sampler = RBFSampler(gamma=options.gamma, n_components=options.features, random_state=options.seed).fit(
        features[:1]
    )
    share = options.seconds / len(options.alpha)
    for alpha in options.alpha:
        model = SGDClassifier(loss="log_loss", alpha=alpha, average=True, random_state=0)
        start, rows, generator = time.perf_counter(), 0, np.random.default_rng(0)
        order = generator.permutation(len(features))
        while time.perf_counter() - start < share:
            part = order[np.arange(rows, rows + _TILE) % len(order)]
            model.partial_fit(sampler.transform(features[part]), codes[part], classes=np.unique(codes))
            rows += _TILE
        seconds = time.perf_counter() - start
        wrong = sum(
            np.count_nonzero(
                model.predict(sampler.transform(fresh[at : at + _TILE])) != truth[at : at + _TILE]
            )
            for at in range(0, len(fresh), _TILE)
        )
        print(
            f"alpha {alpha:g}: {rows / len(features):.2f} passes in {seconds:.0f} s, "
            f"test error {wrong / len(fresh):.4f} on {len(fresh):,} rows",
            flush=True,
        )


def regress(options: argparse.Namespace, dataset) -> None:  # type: ignore[no-untyped-def]
    """Nystroem + Ridge."""
    features, targets = load(dataset.train)
    fresh, truth = load(dataset.test)
    start = time.perf_counter()
    basis = Nystroem(gamma=options.gamma, n_components=options.features, random_state=options.seed).fit(
        features
    )
    made, made_fresh = basis.transform(features), basis.transform(fresh)
    for alpha in options.alpha:
        model = Ridge(alpha=alpha).fit(made, targets)
        rmse = float(np.sqrt(np.mean((model.predict(made_fresh) - truth) ** 2)))
        print(f"alpha {alpha:g}: test rmse {rmse:.5g} after {time.perf_counter() - start:.1f} s", flush=True)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data")
    parser.add_argument("--features", type=int, required=True)
    parser.add_argument("--gamma", type=float, required=True)
    parser.add_argument("--alpha", type=float, nargs="+", default=[1e-7, 1e-6, 1e-5])
    parser.add_argument("--seconds", type=float, default=180.0)
    parser.add_argument("--test-rows", type=int, default=20_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    dataset = distkern.open_dataset(options.data)
    with threadpoolctl.threadpool_limits(options.threads):
        (regress if dataset.task == "regression" else classify)(options, dataset)


if __name__ == "__main__":
    main()
