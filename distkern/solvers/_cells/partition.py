"""Which cell a row belongs to: a tree of centres, each row going to the nearest child."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.common.blas import single_threaded
from distkern.common.types import Floats

Array = NDArray[np.float64]
Numbers = NDArray[np.intp]

#: of ``max_cell_rows``: rows of a cell on average
_FILL = 0.6
#: of the average: cells with fewer rows are joined with their neighbours
_SMALL = 0.1
#: children of a node, at most, so that 10^6 cells are four levels away
_BRANCHES = 64
#: sample rows for each centre that k-means looks at, and visits of each
_ROWS_PER_CENTER, _EPOCHS = 100, 10
_TILE = 2**20


@dataclass(frozen=True)
class Partition:
    """A tree of centres in mapped coordinates.

    Node 0 is the root. Children of a node have consecutive numbers.

    Attributes
    ----------
    centers : (n_nodes, d) float64
    first_child, n_children : (n_nodes,); a leaf has no children
    cells : (n_nodes,) the number of a leaf's cell, -1 elsewhere
    """

    centers: Array
    first_child: Numbers
    n_children: Numbers
    cells: Numbers

    @property
    def n_cells(self) -> int:
        return int((self.cells >= 0).sum())

    def assign(self, rows: Floats, n_nearest: int = 1) -> Numbers:
        """The cells of mapped rows, (n, n_nearest), the nearest first; -1 where there are no more.

        By descent from the root to the nearest ``n_nearest`` children at each level, so a row is compared
        with O(log n_cells) centres; near the border of two branches, it may be the second nearest.
        """
        found = np.empty((len(rows), n_nearest), dtype=np.intp)
        step = max(1, _TILE // max(rows.shape[1], _BRANCHES * n_nearest))
        for start in range(0, len(rows), step):
            found[start : start + step] = self._assign(rows[start : start + step], n_nearest)
        return found

    def _assign(self, rows: Floats, width: int) -> Numbers:
        nodes = np.full((len(rows), width), -1, dtype=np.intp)
        nodes[:, 0] = 0
        distances = np.full((len(rows), width), np.inf)
        distances[:, 0] = 0.0
        while (self.n_children[nodes[nodes >= 0]] > 0).any():
            candidates = np.full((len(rows), width, width), -1, dtype=np.intp)
            lengths = np.full((len(rows), width, width), np.inf)
            for node in np.unique(nodes[nodes >= 0]):
                row, place = np.nonzero(nodes == node)
                if not self.n_children[node]:
                    candidates[row, place, 0] = node
                    lengths[row, place, 0] = distances[row, place]
                    continue
                first, count = self.first_child[node], self.n_children[node]
                scores, shifted = _scores(rows[row], self.centers[first : first + count])
                kept = min(width, int(count))
                order = scores.argsort(axis=1, kind="stable") if kept > 1 else scores.argmin(axis=1)[:, None]
                nearest = order[:, :kept]
                squares = np.einsum("ij,ij->i", shifted, shifted, dtype=np.float64)[:, None]
                candidates[row, place, :kept] = first + nearest
                lengths[row, place, :kept] = np.take_along_axis(scores, nearest, axis=1) + squares
            found, reached = candidates.reshape(len(rows), -1), lengths.reshape(len(rows), -1)
            best = reached.argsort(axis=1, kind="stable")[:, :width]
            nodes = np.take_along_axis(found, best, axis=1)
            distances = np.take_along_axis(reached, best, axis=1)
        return np.where(nodes >= 0, self.cells[nodes], -1)


@dataclass
class _Node:
    center: Array
    children: list[_Node]


def fit_partition(sample: Floats, n_rows: int, max_cell_rows: int, seed: int) -> Partition:
    """Cells of about 0.6 ``max_cell_rows`` of ``n_rows`` rows, from a sample of them.

    k-means (scikit-learn's MiniBatchKMeans) in several levels of at most 64 centres each. Cells that the
    sample says are too large are split in halves at medians of their widest coordinate, too small ones are
    left out, so that their rows go to their neighbours; rows that are all equal stay together.

    Parameters
    ----------
    sample : (n_sample, d) mapped rows, in random order; a cell needs some to be found
    n_rows : of the whole data
    """
    share = n_rows / len(sample)
    n_cells = max(1, round(n_rows / (_FILL * max_cell_rows))) if n_rows > max_cell_rows else 1
    with single_threaded():
        root = _Node(sample.mean(axis=0, dtype=np.float64), [])
        _grow(root, sample, n_cells, max_cell_rows / share, seed)
    return _flattened(root)


def split_cell(rows: Floats, max_cell_rows: int) -> Partition:
    """Cells of at most ``max_cell_rows`` of these very rows, by halves; equal rows stay together."""
    root = _Node(rows.mean(axis=0, dtype=np.float64), [])
    _halve(root, rows, max_cell_rows)
    return _flattened(root)


def _grow(node: _Node, sample: Floats, n_cells: int, limit: float, seed: int) -> None:
    """Children for ``n_cells`` cells below a node, of at most ``limit`` rows of its sample each."""
    if n_cells <= 1 or len(sample) < 2:
        _halve(node, sample, limit)
        return
    n_levels = int(np.ceil(np.log(n_cells) / np.log(_BRANCHES) - 1e-9))
    n_branches = int(np.ceil(n_cells ** (1.0 / n_levels)))
    centers, labels = _clusters(sample, n_branches, seed)
    counts = np.bincount(labels, minlength=len(centers))
    large = counts >= _SMALL * len(sample) / n_branches
    if large.sum() <= 1:
        _halve(node, sample, limit)
        return
    if not large.all():
        centers = centers[large]
        labels = _nearest(sample, centers)
    for number, center in enumerate(centers):
        child, mine = _Node(center, []), sample[labels == number]
        node.children.append(child)
        if len(mine):
            _grow(child, mine, round(n_cells * len(mine) / len(sample)), limit, seed + 1)


def _clusters(sample: Floats, n_clusters: int, seed: int) -> tuple[Array, Numbers]:
    from sklearn.cluster import MiniBatchKMeans

    looked_at = sample[: _ROWS_PER_CENTER * n_clusters]
    n_clusters = min(n_clusters, len(np.unique(looked_at[: 4 * n_clusters], axis=0)))
    with warnings.catch_warnings():
        # fewer distinct rows than clusters
        warnings.simplefilter("ignore")
        model = MiniBatchKMeans(
            n_clusters, n_init=1, batch_size=1024, max_iter=_EPOCHS, random_state=seed % 2**32
        ).fit(looked_at)
    centers = np.asarray(model.cluster_centers_, dtype=np.float64)
    return centers, _nearest(sample, centers)


def _scores(rows: Floats, centers: Array) -> tuple[Array, Floats]:
    """|x - c|^2 - |x - middle|^2 for rows and centres, (n, r), and the rows less the centres' middle."""
    middle = centers.mean(axis=0)
    shifted = rows - middle.astype(rows.dtype)
    around = centers - middle
    return np.square(around).sum(axis=1) - 2.0 * (shifted @ around.T.astype(rows.dtype)), shifted


def _nearest(rows: Floats, centers: Array) -> Numbers:
    labels = np.empty(len(rows), dtype=np.intp)
    step = max(1, _TILE // max(rows.shape[1], len(centers)))
    for start in range(0, len(rows), step):
        labels[start : start + step] = _scores(rows[start : start + step], centers)[0].argmin(axis=1)
    return labels


def _halve(node: _Node, sample: Floats, limit: float) -> None:
    """Halves at the median of the widest coordinate, and so on; two centres whose bisector is that median."""
    if len(sample) <= max(limit, 1):
        return
    center = sample.mean(axis=0, dtype=np.float64)
    spreads = sample.std(axis=0, dtype=np.float64)
    column = int(spreads.argmax())
    values = sample[:, column].astype(np.float64)
    distinct = np.unique(values)
    if len(distinct) < 2:
        return
    place = int(np.clip(np.searchsorted(distinct, np.median(values)), 1, len(distinct) - 1))
    lower_share = (values < distinct[place]).mean()
    if place > 1 and abs((values < distinct[place - 1]).mean() - 0.5) < abs(lower_share - 0.5):
        place -= 1
    # a row as near to both centres goes to the first: that is where the values from the cut on go
    cut = distinct[place]
    for side, inside in ((1.0, values >= cut), (-1.0, values < cut)):
        middle = center.copy()
        middle[column] = cut + side * spreads[column]
        child = _Node(middle, [])
        node.children.append(child)
        _halve(child, sample[inside], limit)


def _flattened(root: _Node) -> Partition:
    """Nodes level by level, cells numbered in that order."""
    nodes, first, counts = [root], [], []
    for node in nodes:
        first.append(len(nodes) if node.children else 0)
        counts.append(len(node.children))
        nodes.extend(node.children)
    n_children = np.array(counts, dtype=np.intp)
    leaves = n_children == 0
    cells = np.where(leaves, np.cumsum(leaves) - 1, -1).astype(np.intp)
    centers = np.array([node.center for node in nodes])
    return Partition(centers, np.array(first, dtype=np.intp), n_children, cells)
