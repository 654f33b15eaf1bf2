"""The same mathematics in one process, in memory: what the overhead of distkern is measured against.

A plain numpy + numba program with one BLAS thread: landmarks, snapshot gradient and inner loop of CSVRG with
ODM on
arrays, without shards, tasks, checkpoints or events. It reuses nothing of the package but the landmarks that
are given to it, so that both do the same work.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numba
import numpy as np

TILE_ROWS = 512


@dataclass
class Twin:
    """CSVRG + ODM for two classes, Gaussian kernel, on arrays (features float32, signs -1 / +1)."""

    landmarks: np.ndarray
    gamma: float
    lam: float
    theta: float
    mu: float
    seconds: dict[str, float] = field(
        default_factory=lambda: {"snapshot": 0.0, "kernel rows": 0.0, "loop": 0.0}
    )

    def __post_init__(self) -> None:
        c = self.landmarks
        self.augmented = np.concatenate(
            [2 * self.gamma * c.T, np.full((1, len(c)), -self.gamma), -self.gamma * (c * c).sum(1)[None]]
        ).astype(np.float32)
        self.scale = 1.0 / (1.0 - self.theta) ** 2
        self.eta = 0.5 / (1.0 + 2.0 * self.lam * self.scale)
        self.rows = np.empty((TILE_ROWS, c.shape[1] + 2), np.float32)
        self.tile = np.empty((TILE_ROWS, len(c)), np.float32)

    def kernel(self, x: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Kernel values of a tile, and the nearest landmarks."""
        rows = self.rows[: len(x)]
        rows[:, :-2] = x
        np.einsum("ij,ij->i", x, x, out=rows[:, -2])
        rows[:, -1] = 1
        np.matmul(rows, self.augmented, out=out)
        nearest = out.argmax(1)
        np.exp(out, out=out)
        return nearest

    def slope(self, z: np.ndarray) -> np.ndarray:
        """ODM's derivative at margins z."""
        below, above = np.maximum(0, 1 - self.theta - z), np.maximum(0, z - 1 - self.theta)
        return 2 * self.scale * (self.mu * above - below)

    def snapshot(self, x: np.ndarray, y: np.ndarray, sigma: np.ndarray) -> np.ndarray:
        """The full gradient at sigma."""
        start_time = time.perf_counter()
        gradient, narrow = np.zeros(len(sigma)), sigma.astype(np.float32)
        for start in range(0, len(x), TILE_ROWS):
            part, signs = x[start : start + TILE_ROWS], y[start : start + TILE_ROWS]
            tile = self.tile[: len(part)]
            nearest = self.kernel(part, tile)
            alpha = self.lam * signs * self.slope(signs * (tile @ narrow))
            gradient += np.bincount(nearest, alpha, len(sigma))
        self.seconds["snapshot"] += time.perf_counter() - start_time
        return gradient / len(x)

    def stage(self, x: np.ndarray, y: np.ndarray, sigma: np.ndarray, order: np.ndarray) -> np.ndarray:
        """One stage over the rows in the given order."""
        gradient = self.snapshot(x, y, sigma)
        columns = np.stack([sigma, gradient], axis=1).astype(np.float32)
        v, a, b = sigma.copy(), 1.0, 0.0
        for start in range(0, len(order), TILE_ROWS):
            begun = time.perf_counter()
            chosen = order[start : start + TILE_ROWS]
            part, tile = x[chosen], self.tile[: len(chosen)]
            nearest = self.kernel(part, tile)
            products = tile @ columns
            made = time.perf_counter()
            a, b = inner(
                tile,
                nearest,
                products,
                y[chosen],
                v,
                a,
                b,
                self.eta,
                self.lam,
                self.theta,
                self.mu,
                self.scale,
            )
            self.seconds["kernel rows"] += made - begun
            self.seconds["loop"] += time.perf_counter() - made
        return a * v + b * gradient


@numba.njit(fastmath={"reassoc", "contract", "nsz", "arcp"}, cache=True)
def inner(tile, nearest, products, y, v, a, b, eta, lam, theta, mu, scale):  # type: ignore[no-untyped-def]
    """The steps of a tile."""
    for t in range(tile.shape[0]):
        dot = 0.0
        for i in range(tile.shape[1]):
            dot += tile[t, i] * v[i]
        z = y[t] * (a * dot + b * products[t, 1])
        zs = y[t] * products[t, 0]
        now = mu * max(0.0, z - 1 - theta) - max(0.0, 1 - theta - z)
        then = mu * max(0.0, zs - 1 - theta) - max(0.0, 1 - theta - zs)
        a_next = a * (1 - eta)
        v[nearest[t]] -= eta * lam * 2 * scale * y[t] * (now - then) / a_next
        b = (1 - eta) * b - eta
        a = a_next
        if a < 1e-4:
            v *= a
            a = 1.0
    return a, b
