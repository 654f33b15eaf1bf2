"""The package's mathematics written again, naively: dense float64 and plain loops, nothing taken from it.

Only :class:`PlainRunner` knows the package: it runs the passes of a generator in the plainest way, and notes
which rows were sampled so that the plain loops can take the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np

# --- losses -----------------------------------------------------------------------------------------------


def hinge(f: float, y: float) -> tuple[float, float]:
    """Value and derivative in f."""
    return (1 - y * f, -y) if y * f < 1 else (0.0, 0.0)


def squared_hinge(f: float, y: float) -> tuple[float, float]:
    return ((1 - y * f) ** 2, -2 * y * (1 - y * f)) if y * f < 1 else (0.0, 0.0)


def odm(f: float, y: float, theta: float = 0.4, mu: float = 0.4) -> tuple[float, float]:
    z = y * f
    if z < 1 - theta:
        return (1 - theta - z) ** 2 / (1 - theta) ** 2, -2 * y * (1 - theta - z) / (1 - theta) ** 2
    if z > 1 + theta:
        return mu * (z - 1 - theta) ** 2 / (1 - theta) ** 2, 2 * mu * y * (z - 1 - theta) / (1 - theta) ** 2
    return 0.0, 0.0


Loss = Callable[[float, float], tuple[float, float]]
LOSSES: dict[str, Loss] = {"hinge": hinge, "squared_hinge": squared_hinge, "odm": odm}


# --- kernels ----------------------------------------------------------------------------------------------


def rbf(x: Any, c: Any, gamma: float) -> Any:
    """The kernel of a row with another, or of rows with rows, (..., d), as those below."""
    return np.exp(-gamma * np.square(np.subtract(x, c)).sum(axis=-1))


def laplacian(x: Any, c: Any, gamma: float) -> Any:
    return np.exp(-gamma * np.abs(np.subtract(x, c)).sum(axis=-1))


def cauchy(x: Any, c: Any, gamma: float) -> Any:
    return np.prod(1 / (1 + gamma * np.square(np.subtract(x, c))), axis=-1)


def matern(x: Any, c: Any, gamma: float, smoothness: float = 1.5) -> Any:
    """With the Bessel function itself."""
    from scipy.special import gamma as gamma_function
    from scipy.special import kv

    s = math.sqrt(2 * smoothness) * gamma * np.sqrt(np.square(np.subtract(x, c)).sum(axis=-1))
    s = np.maximum(s, 1e-12)
    return 2 ** (1 - smoothness) / gamma_function(smoothness) * s**smoothness * kv(smoothness, s)


KERNELS: dict[str, Callable[..., Any]] = {
    "rbf": rbf,
    "laplacian": laplacian,
    "cauchy": cauchy,
    "matern": matern,
}


def gram(kernel: str, left: np.ndarray, right: np.ndarray, **parameters: float) -> np.ndarray:
    """All kernel values, (n, m)."""
    return np.asarray(KERNELS[kernel](left.astype(float)[:, None], right.astype(float)[None], **parameters))


# --- the objective and its exact minimum --------------------------------------------------------------------


def objective(
    loss: Loss,
    lam: float,
    K_rows: np.ndarray,
    K_landmarks: np.ndarray,
    sigma: np.ndarray,
    signs: np.ndarray,
    weights: np.ndarray | None = None,
) -> float:
    """1/2 |w|^2 + lam/m sum_i s_i l(f_i, y_i), summed over the columns of sigma (r, k) and signs (m, k)."""
    n, k = signs.shape
    weights = np.ones(n) if weights is None else weights
    total = 0.0
    for j in range(k):
        total += 0.5 * float(sigma[:, j] @ K_landmarks @ sigma[:, j])
        predictions = K_rows @ sigma[:, j]
        total += lam / n * sum(weights[i] * loss(predictions[i], signs[i, j])[0] for i in range(n))
    return total


def exact_optimum(
    loss: Loss, lam: float, K: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None
) -> tuple[np.ndarray, float]:
    """Newton's method for w = sum_i beta_i phi(x_i), all rows, on beta + lam/m s l'(K beta) = 0."""
    n = len(y)
    s = np.ones(n) if weights is None else weights
    beta = np.zeros(n)
    step = 1e-6

    def f(b: np.ndarray) -> float:
        return objective(loss, lam, K, K, b[:, None], y[:, None], weights)

    value = f(beta)
    for _ in range(100):
        p = K @ beta
        slope = np.array([loss(p[i], y[i])[1] for i in range(n)])
        ahead = np.array([loss(p[i] + step, y[i])[1] for i in range(n)])
        behind = np.array([loss(p[i] - step, y[i])[1] for i in range(n)])
        curvature = (ahead - behind) / (2 * step)
        residual = beta + lam / n * s * slope
        direction = np.linalg.solve(np.eye(n) + (lam / n * s * curvature)[:, None] * K, residual)
        size = 1.0
        while f(beta - size * direction) > value and size > 1e-10:
            size /= 2
        beta = beta - size * direction
        previous, value = value, f(beta)
        if abs(previous - value) <= 1e-14 * abs(value):
            break
    return beta, value


def exact_hinge_optimum(
    lam: float, K: np.ndarray, y: np.ndarray, sweeps: int = 400
) -> tuple[np.ndarray, float]:
    """Dual coordinate ascent: max sum a - 1/2 a'Qa, 0 <= a <= lam/m, w = sum a_i y_i phi(x_i)."""
    n = len(y)
    a = np.zeros(n)
    f = np.zeros(n)
    for _ in range(sweeps):
        for i in range(n):
            new = min(max(a[i] + (1 - y[i] * f[i]) / K[i, i], 0.0), lam / n)
            f += (new - a[i]) * y[i] * K[:, i]
            a[i] = new
    beta = a * y
    return beta, objective(hinge, lam, K, K, beta[:, None], y[:, None])


# --- minima over explicit features ------------------------------------------------------------------------


def smooth_loss(name: str, f: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values, slopes and curvatures, with the constants that losses have unless they are given."""
    margin = y * f
    if name == "logistic":
        p = 1 / (1 + np.exp(np.clip(margin, -500, 500)))
        return np.logaddexp(0, -margin), -y * p, p * (1 - p)
    if name == "squared_hinge":
        short = np.maximum(0, 1 - margin)
        return short**2, -2 * y * short, 2.0 * (margin < 1)
    if name == "odm":
        below, above = np.maximum(0, 0.6 - margin), np.maximum(0, margin - 1.4)
        values, slopes = below**2 + 0.4 * above**2, 2 * y * (0.4 * above - below)
        return values / 0.36, slopes / 0.36, 2 / 0.36 * ((margin < 0.6) + 0.4 * (margin > 1.4))
    if name == "square":
        return 0.5 * (f - y) ** 2, f - y, np.ones(len(f))
    if name == "huber":
        inner = np.minimum(abs(f - y), 1.35)
        return (
            0.5 * inner**2 + 1.35 * (abs(f - y) - inner),
            np.clip(f - y, -1.35, 1.35),
            1.0 * (abs(f - y) < 1.35),
        )
    raise ValueError(name)


def smooth_minimum(
    name: str,
    z: np.ndarray,
    y: np.ndarray,
    s: np.ndarray,
    nu: np.ndarray,
    strength: float = 1.0,
    offset: float = 0.0,
) -> float:
    """The minimum of sum_j nu_j w_j^2 / 2 + strength mean s l(z w + offset, y) by Newton's method, in the
    columns' units."""
    n, w = len(z), np.zeros(z.shape[1])

    def value(w: np.ndarray) -> float:
        losses = smooth_loss(name, z @ w + offset, y)[0]
        return 0.5 * float((nu * w) @ w) + strength * float((s * losses).mean())

    least = value(w)
    for _ in range(300):
        _, slopes, curvatures = smooth_loss(name, z @ w + offset, y)
        gradient = nu * w + strength * z.T @ (s * slopes) / n
        hessian = strength * (z.T * (s * curvatures / n)) @ z + np.diag(nu)
        units = 1 / np.sqrt(np.diag(hessian))
        scaled = hessian * units[:, None] * units
        step = -units * np.linalg.lstsq(scaled, units * gradient, rcond=1e-15)[0]
        length, slope = 1.0, float(gradient @ step)
        while length > 1e-10 and not value(w + length * step) < least + 1e-4 * length * slope:
            length /= 2
        if length <= 1e-10 or -slope <= 1e-13 * abs(least):
            break
        w = w + length * step
        least = value(w)
    return least


# --- the algorithms ---------------------------------------------------------------------------------------


def coverage(rows: np.ndarray, radius: float) -> np.ndarray:
    """The sequential scan: a row farther than ``radius`` from all landmarks so far becomes one."""
    landmarks: list[list[float]] = []
    numbers: list[int] = []
    for number, row in enumerate(rows.astype(float).tolist()):
        covered = False
        for landmark in landmarks:
            total = 0.0
            for a, b in zip(row, landmark, strict=True):
                total += (a - b) * (a - b)
            if total <= radius**2:
                covered = True
                break
        if not covered:
            landmarks.append(row)
            numbers.append(number)
    return rows[numbers]


def csvrg(
    loss: Loss,
    lam: float,
    eta: float,
    K_rows: np.ndarray,
    K_landmarks: np.ndarray,
    signs: np.ndarray,
    weights: np.ndarray,
    stages: Sequence[Sequence[np.ndarray]],
    *,
    radius: float | None = None,
    project_every: int = 0,
    taken: Sequence[Sequence[int]] | None = None,
    directions: np.ndarray | None = None,
) -> list[np.ndarray]:
    """Algorithm 1 with lambda inside alpha; the coefficients (r, k) after each stage.

    ``stages`` holds for each stage the sampled rows, in pieces; with a ``radius``, w is projected after
    each piece that completes ``project_every`` steps since the last projection, and at the end of a stage.
    ``taken`` are for each stage the t of the iterates whose mean is the next snapshot, if not the last one,
    ``directions`` (n, r) what stands for phi(x_i), if not the nearest landmark.
    """
    n, k = signs.shape
    if directions is None:
        directions = np.eye(len(K_landmarks))[K_rows.argmax(axis=1)]
    sigma = np.zeros((K_landmarks.shape[0], k))
    result = []

    def project(w: np.ndarray) -> np.ndarray:
        w = w.copy()
        if radius is not None:
            for j in range(k):
                norm = math.sqrt(max(float(w[:, j] @ K_landmarks @ w[:, j]), 0.0))
                if norm > radius:
                    w[:, j] *= radius / norm
        return w

    def alpha(i: int, j: int, w: np.ndarray) -> float:
        return lam * float(weights[i]) * loss(float(K_rows[i] @ w[:, j]), float(signs[i, j]))[1]

    for stage, pieces in enumerate(stages):
        snapshot = sigma.copy()
        full = np.zeros_like(sigma)
        for i in range(n):
            for j in range(k):
                full[:, j] += alpha(i, j, snapshot) / n * directions[i]
        w = snapshot.copy()
        since = steps = 0
        picked = []
        for piece in pieces:
            for i in piece:
                if taken is not None and steps in taken[stage]:
                    picked.append(w.copy())
                steps += 1
                new = w.copy()
                for j in range(k):
                    new[:, j] = (1 - eta) * w[:, j] - eta * full[:, j]
                    new[:, j] -= eta * (alpha(i, j, w) - alpha(i, j, snapshot)) * directions[i]
                w = new
            since += len(piece)
            if radius is not None and since >= project_every:
                w, since = project(w), 0
        sigma = project(np.mean(picked, axis=0) if picked else w)
        result.append(sigma)
    return result


def avm(
    loss: Loss,
    lam: float,
    offset: float,
    K_rows: np.ndarray,
    K_landmarks: np.ndarray,
    signs: np.ndarray,
    weights: np.ndarray,
    pieces: Sequence[np.ndarray],
    *,
    tail_start: int,
    radius: float | None = None,
    project_after: Sequence[bool] = (),
) -> tuple[np.ndarray, np.ndarray]:
    """w <- (1 - 1/(t0+t)) w - alpha_t phi(c_t) / (t0+t); the last w, the mean after ``tail_start``."""
    k = signs.shape[1]
    nearest = K_rows.argmax(axis=1)
    w = np.zeros((K_landmarks.shape[0], k))
    total = np.zeros_like(w)
    t = 0
    for number, piece in enumerate(pieces):
        for i in piece:
            t += 1
            eta = 1 / (offset + t)
            slopes = [loss(float(K_rows[i] @ w[:, j]), float(signs[i, j]))[1] for j in range(k)]
            w = (1 - eta) * w
            w[nearest[i]] -= eta * lam * float(weights[i]) * np.array(slopes)
            if t > tail_start:
                total += w
        if radius is not None and project_after[number]:
            for j in range(k):
                norm = math.sqrt(max(float(w[:, j] @ K_landmarks @ w[:, j]), 0.0))
                w[:, j] *= min(1.0, radius / norm) if norm > 0 else 1.0
    return w, total / max(t - tail_start, 1)


# --- running passes in the plainest way -------------------------------------------------------------------


class PlainRunner:
    """Runs the passes that a generator yields, one block after the other, in this process.

    ``made`` lists the names of the passes made, ``sampled`` for each Stream the numbers of its rows in the
    whole split, in pieces.
    """

    def __init__(self, train: Sequence[Any], test: Sequence[Any] = ()) -> None:
        self.blocks = {"train": list(train), "test": list(test)}
        self.made: list[str] = []
        self.steps: list[Any] = []
        self.sampled: list[list[np.ndarray]] = []
        self.derived: dict[str, Any] = {}

    def exchange(self, message: Any) -> Any:
        """What the residents of the last Rounds answer."""
        raise NotImplementedError

    def run(self, generator: Generator[Any, Any, Any]) -> Any:
        """What the generator returns."""
        answer = None
        while True:
            try:
                step = generator.send(answer)
            except StopIteration as stop:
                return stop.value
            if hasattr(step, "content"):
                answer = self.exchange(step.content)
                continue
            if hasattr(step, "make"):
                if step.name not in self.derived:
                    self.derived[step.name] = self.run(step.make())
                answer = self.derived[step.name]
                continue
            self.made.append(step.name)
            self.steps.append(step)
            answer = self._stream(step) if hasattr(step, "visits") else self._reduce(step)

    def _reduce(self, step: Any) -> Any:
        blocks = self.blocks[step.split]
        numbers = range(len(blocks)) if step.blocks is None else step.blocks
        results = [step.map(blocks[number], step.operand) for number in numbers]
        total = results[0]
        for result in results[1:]:
            total = step.combine(total, result)
        return total

    def _stream(self, step: Any) -> Generator[Any, None, None]:
        blocks = self.blocks[step.split]
        first_row = np.cumsum([0, *(block.n_rows for block in blocks)])
        sampled: list[np.ndarray] = []
        self.sampled.append(sampled)
        for visit in step.visits:
            block = blocks[visit.block]
            rows = visit.rows(block.n_rows)
            for start in range(0, len(rows), step.piece_rows):
                piece = rows[start : start + step.piece_rows]
                sampled.append(piece + first_row[visit.block])
                yield step.prepare(block.take(piece), step.operand)


def run(generator: Generator[Any, Any, Any], train: Sequence[Any], test: Sequence[Any] = ()) -> Any:
    """Run every pass of the generator on these blocks and return what it returns."""
    return PlainRunner(train, test).run(generator)


def cut_blocks(
    features: np.ndarray, targets: np.ndarray | None, sizes: Sequence[int], weights: np.ndarray | None = None
) -> list[Any]:
    """The rows as blocks of the given sizes."""
    from distkern.core.types import Block

    assert sum(sizes) == len(features)
    blocks = []
    start = 0
    for index, size in enumerate(sizes):
        rows = slice(start, start + size)
        blocks.append(
            Block(
                np.ascontiguousarray(features[rows]) if isinstance(features, np.ndarray) else features[rows],
                None if targets is None else targets[rows],
                None if weights is None else weights[rows],
                index,
            )
        )
        start += size
    return blocks
