"""Kernels of two rows of numbers, by plain loops; nothing is taken from the package."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from reference import KERNELS

Row = Sequence[float]


def dot_product(x: Row, y: Row, gamma: float = 1.0, coefficients: Sequence[float] = ()) -> float:
    product = gamma * sum(a * b for a, b in zip(x, y, strict=True))
    if not coefficients:
        return math.exp(product)
    return sum(coefficient * product**n for n, coefficient in enumerate(coefficients))


def polynomial(x: Row, y: Row, gamma: float = 1.0, degree: int = 3, offset: float = 1.0) -> float:
    return (gamma * sum(a * b for a, b in zip(x, y, strict=True)) + offset) ** degree


def hellinger(x: Row, y: Row) -> float:
    return sum(math.sqrt(a * b) for a, b in zip(x, y, strict=True))


def chi2(x: Row, y: Row) -> float:
    return sum(2 * a * b / (a + b) for a, b in zip(x, y, strict=True) if a + b > 0)


def intersection(x: Row, y: Row) -> float:
    return sum(min(a, b) for a, b in zip(x, y, strict=True))


def jensen_shannon(x: Row, y: Row) -> float:
    total = 0.0
    for a, b in zip(x, y, strict=True):
        if a > 0 and b > 0:
            total += a / 2 * math.log2((a + b) / a) + b / 2 * math.log2((a + b) / b)
    return total


def skewed_chi2(x: Row, y: Row, offset: float = 1.0) -> float:
    return math.prod(
        2 * math.sqrt(a + offset) * math.sqrt(b + offset) / (a + b + 2 * offset)
        for a, b in zip(x, y, strict=True)
    )


def skewed_intersection(x: Row, y: Row, offset: float = 1.0) -> float:
    ratios = [(a + offset) / (b + offset) for a, b in zip(x, y, strict=True)]
    return math.prod(min(math.sqrt(ratio), math.sqrt(1 / ratio)) for ratio in ratios)


def exponential_semigroup(x: Row, y: Row, rate: float = 1.0) -> float:
    return math.exp(-rate * sum(math.sqrt(a + b) for a, b in zip(x, y, strict=True)))


def reciprocal_semigroup(x: Row, y: Row, offset: float = 1.0) -> float:
    return math.prod(offset / (a + b + offset) for a, b in zip(x, y, strict=True))


def arc_cosine(x: Row, y: Row, degree: int = 1) -> float:
    lengths = math.hypot(*x) * math.hypot(*y)
    if lengths == 0:
        return 0.0
    cosine = sum(a * b for a, b in zip(x, y, strict=True)) / lengths
    t = math.acos(max(-1.0, min(1.0, cosine)))
    j = {
        0: math.pi - t,
        1: math.sin(t) + (math.pi - t) * math.cos(t),
        2: 3 * math.sin(t) * math.cos(t) + (math.pi - t) * (1 + 2 * math.cos(t) ** 2),
    }[degree]
    return lengths**degree * j / math.pi


ALL: dict[str, Callable[..., float]] = {
    **KERNELS, "dot_product": dot_product, "polynomial": polynomial, "hellinger": hellinger, "chi2": chi2,
    "intersection": intersection, "jensen_shannon": jensen_shannon, "skewed_chi2": skewed_chi2,
    "skewed_intersection": skewed_intersection, "exponential_semigroup": exponential_semigroup,
    "reciprocal_semigroup": reciprocal_semigroup, "arc_cosine": arc_cosine,
}  # fmt: skip


def naive_gram(kernel: str, left: np.ndarray, right: np.ndarray, **parameters: float) -> np.ndarray:
    """All values, (n, m)."""
    function = ALL[kernel]
    return np.array([[function(x, y, **parameters) for y in right.tolist()] for x in left.tolist()])
