"""A dense set in the regime where simba.txt's theory favours SIMBA: few errors, far more columns than |w|^2.

    python workflows/simba/generate.py --rows 8000 --features 8000 --out margin

Each row has norm 1: y g w*, and orthogonal to it a direction of which a share of the square lies in a few
nuisance directions common to all rows and the rest anywhere; the margin g is uniform in [margin, 2 margin]
and a share of the labels is flipped. So w* / margin, of norm B = 1 / margin, separates all rows but the
flipped ones with a margin of at least 1, and the mean of y x is far from it. All coordinates of w* are of one
size. Writes OUT.npz and OUT-test.npz for `distkern shard`.
"""

from __future__ import annotations

import argparse

import numpy as np


def rows(
    generator: np.random.Generator, basis: np.ndarray, n_rows: int, options: argparse.Namespace
) -> tuple[np.ndarray, np.ndarray]:
    """Features (n_rows, d) float32 and labels -1, +1; the first row of ``basis`` is w*."""
    direction, nuisance = basis[0], basis[1:]
    labels = generator.choice(np.array([-1, 1]), n_rows)
    margins = generator.uniform(options.margin, 2 * options.margin, n_rows)
    noise = generator.standard_normal((n_rows, basis.shape[1]), dtype=np.float32)
    noise -= (noise @ basis.T) @ basis
    common = generator.standard_normal((n_rows, len(nuisance)), dtype=np.float32)
    for part, share in ((noise, 1 - options.share), (common, options.share)):
        length = np.sqrt(share * (1 - margins**2)) / np.linalg.norm(part, axis=1)
        part *= length.astype(np.float32)[:, None]
    features = noise + common @ nuisance + np.outer(labels * margins, direction).astype(np.float32)
    return features, np.where(generator.random(n_rows) < options.flipped, -labels, labels)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=8000)
    parser.add_argument("--features", type=int, default=8000)
    parser.add_argument("--margin", type=float, default=0.1)
    parser.add_argument("--nuisance", type=int, default=100, help="directions")
    parser.add_argument("--share", type=float, default=0.9, help="of the noise's square in them")
    parser.add_argument("--flipped", type=float, default=0.005)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    generator = np.random.default_rng(options.seed)
    basis = generator.standard_normal((1 + options.nuisance, options.features), dtype=np.float32)
    basis[0] = generator.choice(np.array([-1.0, 1.0], dtype=np.float32), options.features)
    # orthonormal, and the first stays what it is but for its length
    basis = np.linalg.qr(basis.T)[0].T
    for name, count in (("", options.rows), ("-test", 10_000)):
        features, labels = rows(generator, basis, count, options)
        np.savez(f"{options.out}{name}.npz", X=features, y=labels)


if __name__ == "__main__":
    main()
