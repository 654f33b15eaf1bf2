"""Conjugate gradients whose products are passes (Hestenes and Stiefel 1952)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.solvers.base import Steps
from distkern.solvers.gram import Solve

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Solved:
    """Where conjugate gradients have led.

    Attributes
    ----------
    step : (r, k)
    gained : what the parabola is lower by there
    left : about what its minimum is lower than that
    products : made
    """

    step: Array
    gained: float
    left: float
    products: int


def conjugate_gradients(
    product: Callable[[Array], Steps[Array]],
    gradient: Array,
    solve: Solve,
    *,
    value: float,
    share: float,
    tolerance: float,
    most: int,
    together: bool,
) -> Steps[Solved]:
    """Towards the minimum of value + g . d + d . H d / 2, each step a product with H.

    It is near when j times what the j-th step has gained is at most ``share`` of what all have (Nash and
    Sofer 1990), or ``tolerance`` times the value there.

    Parameters
    ----------
    product : H p, (r, k)
    gradient : g, (r, k)
    solve : P^-1, about H^-1
    value : of the parabola at 0
    most : products
    together : H mixes the outputs; else each of them has steps of its own
    """
    axes = "ij,ij->" if together else "ij,ij->j"
    step, residual = np.zeros_like(gradient), -gradient
    towards = solve(residual)
    direction, slope = towards, np.einsum(axes, residual, towards)
    gained, left = 0.0, float(0.5 * np.sum(slope))
    for number in range(1, most + 1):
        bent = yield from product(direction)
        bend = np.einsum(axes, direction, bent)
        length = slope / np.where(bend > 0, bend, np.inf)
        step = step + length * direction
        before, residual = residual, residual - length * bent
        last = 0.5 * float(np.sum(length * slope))
        gained, left = gained + last, number * last
        if not left > max(share * gained, tolerance * (value - gained)):
            break
        towards = solve(residual)
        # the change of the residual beside it makes up for products that are rounded
        turn = np.einsum(axes, residual - before, towards) / np.where(slope > 0, slope, np.inf)
        slope = np.einsum(axes, residual, towards)
        direction = towards + turn * direction
    return Solved(step, gained, left, number)
