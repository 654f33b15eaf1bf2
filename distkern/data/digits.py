"""Virtual examples of handwritten digits: any number of rows, generated chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.rng import Purpose, stream

SIDE = 8
N_FEATURES = SIDE * SIDE
_SPLITS = {"train": 0, "test": 1}
#: rows to warp at once; their temporaries fit the processor's cache
_TILE = 1024


@dataclass(frozen=True)
class VirtualDigits:
    """Small random shifts, rotations, scalings and noise of scikit-learn's 1,797 handwritten digits.

    The papers make MNIST-8M in the same way. A fifth of the *images* is held out, so no image makes both
    training and test rows. A chunk is a pure function of (seed, split, number of the chunk).

    Attributes
    ----------
    seed : seed of all random choices
    held_out : share of the images for test rows
    shift : largest shift along each axis, in pixels
    rotation : largest rotation, in degrees
    scaling : largest relative enlargement or reduction
    noise : standard deviation of the noise of each pixel, where black is 1
    chunk_rows : number of rows of a chunk
    """

    seed: int = 0
    held_out: float = 0.2
    shift: float = 0.7
    rotation: float = 15.0
    scaling: float = 0.1
    noise: float = 0.05
    chunk_rows: int = 16384

    @cached_property
    def _digits(self) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        from sklearn.datasets import load_digits

        digits: Any = load_digits()
        return (digits.images / 16.0).astype(np.float32), digits.target.astype(np.int64)

    def images(self, split: str) -> NDArray[np.intp]:
        """Return the numbers of the images behind the rows of ``split`` ("train" or "test"), ascending."""
        n_images = len(self._digits[1])
        order = stream(self.seed, Purpose.TEST_SPLIT).permutation(n_images)
        n_test = round(self.held_out * n_images)
        return np.sort(order[:n_test] if split == "test" else order[n_test:])

    def chunks(
        self, n_rows: int, split: str = "train"
    ) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]]:
        """Yield chunks of (features (rows, 64) float32, digits (rows,) int64) with ``n_rows`` rows in all."""
        for number, start in enumerate(range(0, n_rows, self.chunk_rows)):
            yield self.chunk(number, split, min(self.chunk_rows, n_rows - start))

    def chunk(
        self, number: int, split: str = "train", n_rows: int | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the rows of chunk ``number``: all of them, or the first ``n_rows``."""
        images, targets = self._digits
        random = stream(self.seed, Purpose.GENERATE, _SPLITS[split], number)
        size = self.chunk_rows
        picked = random.choice(self.images(split), size)
        angle = np.radians(random.uniform(-self.rotation, self.rotation, size)).astype(np.float32)
        scale = (1 + random.uniform(-self.scaling, self.scaling, size)).astype(np.float32)
        shift = random.uniform(-self.shift, self.shift, (2, size)).astype(np.float32)
        noise = np.float32(self.noise)
        features = np.empty((size, N_FEATURES), dtype=np.float32)
        # a margin of zeros, so that pixels from outside the image are blank
        padded = np.pad(images, ((0, 0), (1, 2), (1, 2))).reshape(len(images), -1)
        for start in range(0, size, _TILE):
            tile = slice(start, start + _TILE)
            rows = _warp(padded, picked[tile], angle[tile], scale[tile], shift[:, tile])
            features[tile] = rows + noise * random.standard_normal(rows.shape, dtype=np.float32)
        stop = size if n_rows is None else n_rows
        return features[:stop], targets[picked[:stop]]


def _warp(
    padded: NDArray[np.float32],
    picked: NDArray[np.intp],
    angle: NDArray[np.float32],
    scale: NDArray[np.float32],
    shift: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Return images (n, 64) with the bilinear value at R(angle)(p - c) / scale + c + shift as pixel p."""
    width = SIDE + 3
    centre = np.float32((SIDE - 1) / 2)
    grid = np.arange(SIDE, dtype=np.float32) - centre
    down, across = (axis.reshape(1, -1) for axis in np.meshgrid(grid, grid, indexing="ij"))
    cosine, sine = (np.cos(angle) / scale)[:, None], (np.sin(angle) / scale)[:, None]
    # coordinates of the padded image, kept inside its margin
    y = np.clip(cosine * down - sine * across + (shift[0] + centre + 1)[:, None], 0, SIDE + 1)
    x = np.clip(sine * down + cosine * across + (shift[1] + centre + 1)[:, None], 0, SIDE + 1)
    top, left = y.astype(np.int32), x.astype(np.int32)
    y -= top
    x -= left
    corner = picked[:, None] * (width * width) + top * width + left
    flat = padded.reshape(-1)
    upper: NDArray[np.float32] = flat[corner]
    upper += x * (flat[corner + 1] - upper)
    lower = flat[corner + width]
    lower += x * (flat[corner + width + 1] - lower)
    upper += y * (lower - upper)
    return upper
