"""A dense set in the regime where simba.txt's theory favours SIMBA: few errors, far more columns than |w|^2.

    python workflows/simba/generate.py --rows 8000 --features 8000 --out margin

Each row is y g w* plus a direction drawn uniformly from the sphere orthogonal to w*, scaled to norm 1; the
margin g is uniform in [margin, 2 margin] and a share of the labels is flipped. So w* / margin, of norm
B = 1 / margin, separates all rows but the flipped ones with a margin of at least 1. All coordinates of w* are
of one size. Writes margin.npz and margin-test.npz for `distkern shard`.
"""

from __future__ import annotations

import argparse

import numpy as np


def rows(
    generator: np.random.Generator, direction: np.ndarray, n_rows: int, margin: float, flipped: float
) -> tuple[np.ndarray, np.ndarray]:
    """Features (n_rows, d) float32 and labels -1, +1."""
    labels = generator.choice(np.array([-1, 1]), n_rows)
    margins = generator.uniform(margin, 2 * margin, n_rows)
    noise = generator.standard_normal((n_rows, len(direction)), dtype=np.float32)
    noise -= np.outer(noise @ direction, direction)
    noise *= (np.sqrt(1 - margins**2) / np.linalg.norm(noise, axis=1)).astype(np.float32)[:, None]
    features = noise + np.outer(labels * margins, direction).astype(np.float32)
    return features, np.where(generator.random(n_rows) < flipped, -labels, labels)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=8000)
    parser.add_argument("--features", type=int, default=8000)
    parser.add_argument("--margin", type=float, default=0.15)
    parser.add_argument("--flipped", type=float, default=0.005)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    generator = np.random.default_rng(options.seed)
    signs = generator.choice(np.array([-1.0, 1.0], dtype=np.float32), options.features)
    direction = signs / np.float32(np.sqrt(options.features))
    for name, count in (("", options.rows), ("-test", 10_000)):
        features, labels = rows(generator, direction, count, options.margin, options.flipped)
        np.savez(f"{options.out}{name}.npz", X=features, y=labels)


if __name__ == "__main__":
    main()
