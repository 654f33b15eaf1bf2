"""Kernels and losses as independent formulas in float64, by plain loops.

A new kernel or loss has its formula here, once more and in another way: its contract tests compare the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

import reference
from distkern.core.parameters import declared

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


#: of two rows, with the kernel's parameters by name; a new kernel's own goes here
KERNELS: dict[str, Callable[..., float]] = {
    **reference.KERNELS,
    "dot_product": dot_product,
    "polynomial": polynomial,
    "hellinger": hellinger,
    "chi2": chi2,
    "intersection": intersection,
    "jensen_shannon": jensen_shannon,
    "skewed_chi2": skewed_chi2,
    "skewed_intersection": skewed_intersection,
    "exponential_semigroup": exponential_semigroup,
    "reciprocal_semigroup": reciprocal_semigroup,
    "arc_cosine": arc_cosine,
}

#: the kernels that users can rely on
CONTRACT = {
    "rbf",
    "laplacian",
    "cauchy",
    "matern",
    "dot_product",
    "polynomial",
    "hellinger",
    "chi2",
    "intersection",
    "jensen_shannon",
    "skewed_chi2",
    "skewed_intersection",
    "exponential_semigroup",
    "reciprocal_semigroup",
    "arc_cosine",
}

#: further parameters worth a try, beside the defaults and another value of each; nobody needs to be here
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "matern": [{"gamma": 0.7, "smoothness": smoothness} for smoothness in (0.5, 9.5)],
    "polynomial": [{"gamma": 0.5, "degree": 2, "offset": 0.0}],
    "dot_product": [{"gamma": 0.8, "coefficients": (0.5, 0.0, 2.0)}],
    "arc_cosine": [{"degree": 0}],
    "odm": [{"theta": 0.0, "mu": 1.0}, {"theta": 0.8, "mu": 0.2}, {"theta": 0.2, "mu": 0.05}],
    "epsilon_insensitive": [{"epsilon": 0.0}],
}
#: those of which a root of a rounded distance, or an angle by its cosine, has half the digits
HALF_THE_DIGITS = ("arc_cosine", "matern-0.5")


# --- losses -----------------------------------------------------------------------------------------------


def softmax(f: Row, y: Row) -> float:
    return (
        math.log(sum(math.exp(a - max(f)) for a in f))
        + max(f)
        - sum(a * b for a, b in zip(f, y, strict=True))
    )


def quantile(f: Row, y: Row, quantiles: Row = (0.5,)) -> float:
    return sum(max(q * (b - a), (q - 1) * (b - a)) for q, a, b in zip(quantiles, f, y, strict=True))


def huber(f: float, y: float, delta: float = 1.35) -> float:
    return (f - y) ** 2 / 2 if abs(f - y) <= delta else delta * (abs(f - y) - delta / 2)


def epsilon_insensitive(f: float, y: float, epsilon: float = 0.1) -> float:
    return max(0.0, abs(f - y) - epsilon)


def summed(single: Callable[..., float]) -> Callable[..., float]:
    """The sum over outputs, each of which costs by itself."""
    return lambda f, y, **parameters: sum(single(a, b, **parameters) for a, b in zip(f, y, strict=True))


def novelty(f: Row, y: Row, fraction: float = 0.1, threshold: float = 0.0) -> float:
    return (threshold - f[0] if f[0] < threshold else 0.0) - fraction * threshold


def density_ratio(f: Row, y: Row, cap: float = 8.0) -> float:
    if y[0] > 0:
        return -2 * f[0]
    beyond = max(f[0] - cap, 0.0)
    return 2 * math.exp(min(f[0], cap)) * (1 + beyond + beyond**2 / 2)


#: of the predictions and targets of a row, with the loss's parameters by name; a new loss's own goes here
LOSSES: dict[str, Callable[..., float]] = {
    "hinge": summed(lambda f, y: reference.hinge(f, y)[0]),
    "least_squares": summed(lambda f, y: 0.5 * np.square(1.0 - y * f)),
    "squared_hinge": summed(lambda f, y: reference.squared_hinge(f, y)[0]),
    "odm": summed(lambda f, y, **given: reference.odm(f, y, **given)[0]),
    "logistic": summed(lambda f, y: math.log(1 + math.exp(-y * f))),
    "square": summed(lambda f, y: (f - y) ** 2 / 2),
    "huber": summed(huber),
    "epsilon_insensitive": summed(epsilon_insensitive),
    "absolute": summed(lambda f, y: abs(f - y)),
    "quantile": quantile,
    "softmax": softmax,
    "novelty": novelty,
    "density_ratio": density_ratio,
}


# --- for the contract tests ---------------------------------------------------------------------------------


def formula(table: str, member: Any) -> Callable[..., float]:
    """The formula of a kernel or loss, with the parameters that it has; without one the test fails."""
    known: dict[str, Callable[..., float]] = globals()[table]
    if member.name not in known:
        pytest.fail(
            f"write the float64 formula of {member.name!r} into {table} of tests/contracts/formulas.py"
        )
    values = {name: getattr(member, name) for name in declared(type(member))}
    return partial(known[member.name], **{name: value for name, value in values.items() if value is not None})


def gram(kernel: Any, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """All values of a kernel, (n, m)."""
    function = formula("KERNELS", kernel)
    return np.array([[function(x, y) for y in right.tolist()] for x in left.tolist()])


def examples(kind: Any, **given: Any) -> list[Any]:
    """Members of a kind: the default one, one with another value of each parameter, and the variants."""
    names = [name for name in declared(kind) if name not in given]
    settings = [given] + [{**given, name: another(declared(kind)[name])} for name in names]
    return [kind(**values) for values in [*settings, *VARIANTS.get(kind.name, ())]]


def another(parameter: Any) -> Any:
    """A value that a parameter may have, other than its default."""
    ends = [end for kind in parameter.kinds for end in (getattr(kind, "least", 0), getattr(kind, "most", 0))]
    finite = [int(end) for end in ends if math.isfinite(end)]
    for value in (
        0.3,
        2,
        2.5,
        0.5,
        3,
        (0.1, 0.5, 0.9),
        *parameter.words,
        *finite,
        *(end + 1 for end in finite),
    ):
        if value != parameter.default and any(kind.accepts(value) for kind in parameter.kinds):
            return value
    raise AssertionError(f"no value to try of a parameter that is {parameter.description}: add one here")


def label(member: Any) -> str:
    """How tests name a member."""
    values = [str(getattr(member, name)) for name in declared(type(member))]
    return "-".join([member.name, *values])
