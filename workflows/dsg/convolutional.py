"""The jointly trained net of Figure 7 (1) of Dai et al. 2014: LeNet-5, rectified linear units, by PyTorch.

Two convolutions of 5 x 5 pixels, of 16 and 32 filters, each with max-pooling after it; a layer of 128
neurons, and multi-class logistic regression: the paper's sizes. From 28 x 28 pixels the last pooling leaves
7 x 7 x 32 = 1,568 numbers, the features that the paper gives to DSG and to a net of fixed convolutions.
"""

from __future__ import annotations

import importlib.util
import math
import time
from pathlib import Path
from typing import Any

import numpy as np

import distkern
from distkern.data.ingest import write_dataset
from workflows.records import Record
from workflows.subsets import gathered

FILTERS, WIDTH, NEURONS = (16, 32), 5, 128
#: Adam's steps, and rows of each; the paper does not say its own
_RATE, _BATCH = 1e-3, 64
#: pixels of a side that two poolings leave something of
_LEAST_SIDE = 4
#: rows whose features are computed at a time
_TILE = 1024


def is_installed() -> bool:
    """Whether there is a PyTorch."""
    return importlib.util.find_spec("torch") is not None


def side_of(n_columns: int, name: str) -> int:
    """Pixels of a side of square images of one channel.

    Raises
    ------
    ValueError
        If the columns are no such image, or too few.
    """
    side = math.isqrt(n_columns)
    if side * side != n_columns or side < _LEAST_SIDE:
        raise ValueError(
            f"{name} has {n_columns} columns, and a convolutional net wants the pixels of square images: "
            f"{_LEAST_SIDE**2}, 64, 784 or another square of {_LEAST_SIDE} or more; give another data set"
        )
    return side


def joint_net(*, data: str, seed: int, passes: int, fingerprint: str, features: str) -> Record:
    """Train the net; ``curve`` has held-out errors after each pass, as for jobs.

    Parameters
    ----------
    features : path of the data set to write, with the last pooling of every row
    """
    import torch

    dataset = distkern.open_dataset(data)
    X, y = gathered(dataset.train)
    fresh, truth = gathered(dataset.test)
    side, unit = side_of(X.shape[1], data), float(np.abs(X).max()) or 1.0
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(seed)
    rows, test = (torch.from_numpy(_images(part, side, unit)) for part in (X, fresh))
    codes = torch.from_numpy(y.astype(np.int64))
    net = _net(side, int(y.max()) + 1)
    optimizer = torch.optim.Adam(net.parameters(), lr=_RATE)
    seconds, curve = 0.0, []
    for number in range(1, passes + 1):
        start = time.process_time()
        for chosen in torch.randperm(len(rows)).split(_BATCH):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(rows[chosen]), codes[chosen]).backward()
            optimizer.step()
        seconds += time.process_time() - start
        wrong = _applied(net, test).argmax(axis=1) != truth
        curve.append({"passes": number, "cpu_seconds": seconds, "test_error": float(wrong.mean())})
    parts = [(_applied(net[0], part), of) for part, of in ((rows, y), (test, truth))]
    made = write_dataset(
        iter(parts[:1]), Path(features), iter(parts[1:]), scale="none", overwrite=True, seed=0
    )
    parameters = sum(one.numel() for one in net.parameters())
    return {
        "curve": curve,
        "fingerprint": made.fingerprint,
        "columns": made.n_features,
        "parameters": parameters,
    }


def _net(side: int, n_classes: int) -> Any:
    """Convolutions, then layers."""
    from torch import nn

    first, second = FILTERS
    convolutions = nn.Sequential(
        nn.Conv2d(1, first, WIDTH, padding="same"),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(first, second, WIDTH, padding="same"),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
    )
    left = second * (side // 4) ** 2
    layers = nn.Sequential(nn.Linear(left, NEURONS), nn.ReLU(), nn.Linear(NEURONS, n_classes))
    return nn.Sequential(convolutions, layers)


def _images(rows: Any, side: int, unit: float) -> np.ndarray:
    dense = np.asarray(rows.todense() if hasattr(rows, "todense") else rows, dtype=np.float32)
    return (dense / np.float32(unit)).reshape(-1, 1, side, side)


def _applied(net: Any, rows: Any) -> np.ndarray:
    import torch

    with torch.no_grad():
        return np.concatenate([net(tile).numpy() for tile in rows.split(_TILE)])
