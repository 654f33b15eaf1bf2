"""The base classes of losses.

To add a loss, write a file in this folder with a frozen dataclass that derives from :class:`AbstractLoss`, or
from :class:`AbstractElementwiseLoss` if the loss is a sum over outputs; the contract tests find it and ask
for its formula in ``tests/contracts/formulas.py``. SDCA uses an :class:`AbstractCoordinateLoss`, cells an
:class:`AbstractDualLoss`.

A loss (:class:`AbstractLoss`) must give:

    name, target_kind             its name, and the kind of targets
    row_values, row_slopes        l and dl/df of rows
    curvature                     a bound of l'', infinite if l' jumps

It may give:

    is_non_negative, has_probabilities, is_quadratic, predicts_quantiles    its properties
    row_curvatures, row_products  second derivatives of rows, if ``curvature`` is finite
    row_bounds                    curvatures for safe steps, if they differ by row
    row_gaps                      the gap to the conjugate, for bounds of the distance to the minimum
    row_balance, balanced         the cost of moving slopes until they sum to 0
    coupling, n_outputs, check_outputs    for losses with competing outputs
    probabilities                 for likelihoods
    scaled, levels, check_scale   for real targets

A loss of single outputs (:class:`AbstractElementwiseLoss`) must give, for ``row_values`` and ``row_slopes``:

    value, derivative             l and dl/df, as static functions

It may give:

    second_derivative             d2l/df2, if ``curvature`` is finite
    parameters                    its constants, as arguments of these functions
    norm_bound                    the largest -f l'(f, y), for the ball that holds the optimum
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from distkern.core.errors import InputError
from distkern.core.parameters import Declared
from distkern.core.types import Array, Floats

#: arguments and results of ``value`` and ``derivative``: arrays of one shape, or scalars in compiled loops
Elements = Any


@dataclass(frozen=True)
class AbstractLoss(Declared, ABC):
    """A convex loss l(f, y) of the k predictions f of a row and its k targets y."""

    name: ClassVar[str]
    #: "binary": targets are -1 and +1, one output for each class against the rest; "classes": 1 for the row's
    #: class and 0 for the others, which compete; "real": real numbers; "samples": +1 for the rows of one
    #: sample and -1 for those of another; "none": no targets
    target_kind: ClassVar[str]
    #: whether l >= 0
    is_non_negative: ClassVar[bool] = True
    #: whether it is the negative log-likelihood of classes
    has_probabilities: ClassVar[bool] = False
    #: whether it is a quadratic function of the predictions, so that one Newton step reaches the minimum
    is_quadratic: ClassVar[bool] = False
    #: whether each output is the targets' quantile at its level in ``levels``
    predicts_quantiles: ClassVar[bool] = False

    @classmethod
    def from_parameters(cls, **available: Any) -> Self:
        """Build the loss from those ``available`` constants that it has."""
        return cls(**{name: value for name, value in available.items() if name in cls.__dataclass_fields__})

    @abstractmethod
    def row_values(self, predictions: Floats, targets: Floats) -> Floats:
        """l of each row: (n,) for predictions and targets (n, k), in the predictions' dtype."""

    @abstractmethod
    def row_slopes(self, predictions: Floats, targets: Floats) -> Floats:
        """dl/df of each row: (n, k), in the predictions' dtype."""

    def row_curvatures(self, predictions: Floats, targets: Floats) -> Floats:
        """d2l/df_j2 of each row: (n, k) >= 0, in the predictions' dtype; at a kink of the slope, of one side.

        Raises
        ------
        InputError
            If the slope jumps.
        """
        from distkern.maths.losses import CURVED_LOSSES, takes

        raise InputError(
            f"{self.name!r} has no second derivative",
            where="loss",
            hint=f"use one of {', '.join(CURVED_LOSSES.where(takes(self.target_kind)))}",
        )

    def row_products(self, predictions: Floats, targets: Floats, directions: Floats) -> Floats:
        """d2l/df2 of each row times its direction, (n, k), ignoring the coupling of outputs.

        At a kink as :meth:`row_curvatures`.
        """
        products: Floats = self.row_curvatures(predictions, targets) * directions
        return products

    def row_gaps(self, predictions: Array, targets: Array, changes: Array) -> tuple[Array, Array] | None:
        """The gap in Fenchel's inequality at the slopes that Newton's step to f + u predicts.

        For a = l'(f, y) + l''(f, y) u, without coupling of outputs, moved to the nearest slope of l,

            l(f, y) + l*(a, y) - a f >= 0,    l*(a, y) = sup_f (a f - l(f, y)).

        Parameters
        ----------
        predictions, targets, changes : (n, k) f, y and u

        Returns
        -------
        The gaps summed over the outputs, (n,), and the moves of the slopes, (n, k); None for a loss without a
        known conjugate.
        """
        return None

    def row_balance(self, predictions: Array, targets: Array, slopes: Array) -> tuple[Array, Array]:
        """The terms of :meth:`balanced` for rows, two arrays (n, k), here |a| and a^2 for slopes a (n, k)."""
        return np.abs(slopes), np.square(slopes)

    def balanced(self, excess: Array, means: Array, loss: float) -> tuple[float, float]:
        """Bound the cost of moving slopes a_i, with mean ``excess``, to slopes a'_i of l with mean 0.

        The slopes of the prevailing sign shrink by the factor 1 - t, t = |excess| / mean |a| over that
        sign. As l* is convex and l*(0) = -min l <= 0,

            l(f) + l*(a') - a' f <= (1 - t) (l(f) + l*(a) - a f) + t l(f).

        Parameters
        ----------
        excess : (k,) mean of s_i a_i
        means : (2, k) means of s_i times :meth:`row_balance`
        loss : mean of s_i l(f_i)

        Returns
        -------
        Upper bounds of the increase of mean_i s_i (l(f_i) + l*(a_i) - a_i f_i), and of the root of the mean
        of s_i |a'_i - a_i|^2. Infinite for a loss that may be negative.
        """
        size = np.abs(excess)
        if not size.any():
            return 0.0, 0.0
        if not self.is_non_negative:
            return math.inf, math.inf
        larger = 0.5 * (means[0] + size)
        shares = np.minimum(size / np.where(larger > 0, larger, 1.0), 1.0)
        return float(shares.max()) * loss, float(np.sqrt(np.square(shares) @ means[1]))

    def row_bounds(self, predictions: Floats, targets: Floats) -> Floats | None:
        """Curvatures for safe Newton steps of one output, (n_rows,); None if all rows have the same."""
        return None

    def coupling(self, n_outputs: int) -> float:
        """The approximate ratio of a row's Hessian to its diagonal in the direction of the slopes."""
        return 1.0

    def n_outputs(self, n_classes: int = 0) -> int:
        """Number of outputs: one for each class, one-vs-rest or competing.

        Two classes share one output unless they compete; targets other than classes have one output.
        """
        if self.target_kind not in ("binary", "classes"):
            return 1
        return n_classes if n_classes > 2 or self.target_kind == "classes" else 1

    def check_outputs(self, n_outputs: int) -> None:
        """Refuse an unsuitable number of outputs.

        Raises
        ------
        InputError
            If classes compete and there are fewer than two.
        """
        if self.target_kind == "classes" and n_outputs < 2:
            raise InputError(
                f"{self.name!r} compares the outputs of at least two classes",
                where="loss",
                hint="use 'logistic' for a single output",
            )

    def check_scale(self, scale: float) -> None:
        """Refuse constants of the loss that do not suit real targets with this scale."""

    def probabilities(self, predictions: Floats) -> Array:
        """The probability of each class code, (n_rows, n_classes) with rows that sum to 1.

        Raises
        ------
        InputError
            If the loss is not a likelihood.
        """
        raise InputError(
            f"{self.name!r} gives no probabilities", where="loss", hint="train with 'logistic' or 'softmax'"
        )

    def scaled(self, scale: float) -> Self:
        """The loss for predictions and targets that were both divided by ``scale``.

        Constants that are residuals are divided too: then l(f, y) is a power of ``scale`` times the new loss.
        Default constants are for targets of variance 1. A loss without constants measures residuals in units
        of ``scale``.
        """
        return self

    @property
    def levels(self) -> tuple[float, ...] | None:
        """For real targets: the quantile level of each output's best constant; None for the mean."""
        return (0.5,)

    @property
    @abstractmethod
    def curvature(self) -> float:
        """Smallest c with |l'(f, y) - l'(g, y)| <= c |f - g|; infinite if l' jumps."""


@dataclass(frozen=True)
class AbstractElementwiseLoss(AbstractLoss):
    """A loss that is the sum of l(f_j, y_j) over the outputs.

    ``value`` and ``derivative`` are static functions of (prediction, target, parameters) written with numpy
    ufuncs only, so that the same source serves arrays in a pass and scalars in a compiled loop.
    ``parameters`` is the tuple of floats in :attr:`parameters`. Constants are Python's floats
    (``math.log(2.0)``); NumPy's would turn single precision into double.
    """

    @property
    def parameters(self) -> tuple[float, ...]:
        """The loss's constants, in the order expected by ``value`` and ``derivative``."""
        return ()

    @staticmethod
    @abstractmethod
    def value(prediction: Elements, target: Elements, parameters: tuple[float, ...]) -> Elements:
        """l(f, y), elementwise."""

    @staticmethod
    @abstractmethod
    def derivative(prediction: Elements, target: Elements, parameters: tuple[float, ...]) -> Elements:
        """dl/df at (f, y), elementwise; at a kink, the subgradient of smallest modulus."""

    @staticmethod
    def second_derivative(prediction: Elements, target: Elements, parameters: tuple[float, ...]) -> Elements:
        """d2l/df2 at (f, y), elementwise, for a loss with a finite :attr:`curvature`."""
        raise NotImplementedError("a loss with a finite curvature needs second_derivative")

    @property
    def norm_bound(self) -> float:
        """Largest value of -f l'(f, y): the optimum of 1/2|w|^2 + (lam/m) sum l has |w|^2 <= lam * this.

        From <w*, grad f(w*)> = 0. The optimum of a coreset problem may exceed the bound. Infinite for real
        targets, which are unbounded.
        """
        return math.inf

    def row_values(self, predictions: Floats, targets: Floats) -> Floats:
        values: Floats = self.value(predictions, targets, self.parameters).sum(axis=1)
        return values

    def row_slopes(self, predictions: Floats, targets: Floats) -> Floats:
        slopes: Floats = self.derivative(predictions, targets, self.parameters)
        return slopes

    def row_curvatures(self, predictions: Floats, targets: Floats) -> Floats:
        if not math.isfinite(self.curvature):
            return super().row_curvatures(predictions, targets)
        curvatures: Floats = self.second_derivative(predictions, targets, self.parameters)
        return curvatures.astype(predictions.dtype, copy=False)


# -- losses with conjugates, for dual solvers


@dataclass(frozen=True)
class AbstractCoordinateLoss(AbstractElementwiseLoss):
    """A loss for dual coordinate methods, with the conjugate (c l)*(-a) = sup_f (-a f - c l(f, y)).

    Both functions take scalars and are compiled into loops, like ``value`` and ``derivative``.
    """

    @property
    @abstractmethod
    def dual_parameters(self) -> tuple[float, ...]:
        """The constants of the conjugate, in the order expected by the functions below."""

    @staticmethod
    @abstractmethod
    def dual_cost(dual: float, target: float, cost: float, parameters: tuple[float, ...]) -> float:
        """(c l)*(-a) for a within its bounds, c = ``cost`` > 0."""

    @staticmethod
    @abstractmethod
    def dual_minimum(
        prediction: float,
        square: float,
        dual: float,
        target: float,
        cost: float,
        parameters: tuple[float, ...],
    ) -> float:
        """The b that minimises (c l)*(-b) + prediction (b - a) + square / 2 (b - a)^2, for a = ``dual``."""


@dataclass(frozen=True)
class Conjugate:
    """l*(-a) = sup_f (-a f - l(f, y)) = -a y + flat |a| + curve / 2 a^2 for -below <= a <= above.

    Beyond the bounds it is infinite. This holds for real y, and for y = +1 of a loss of the margin; for y =
    -1 the two directions of a are exchanged.

    Attributes
    ----------
    flat : half width of the interval around y without loss
    rising, falling : the curve for a > 0 and for a < 0
    above, below : bounds of a, possibly infinite
    """

    flat: float = 0.0
    rising: float = 0.0
    falling: float = 0.0
    above: float = math.inf
    below: float = math.inf


@dataclass(frozen=True)
class AbstractDualLoss(AbstractCoordinateLoss):
    """A loss whose conjugate is a parabola on either side of 0."""

    @property
    @abstractmethod
    def conjugate(self) -> Conjugate:
        """The conjugate l*."""

    @property
    def dual_parameters(self) -> tuple[float, ...]:
        """The fields of :class:`Conjugate` in their order, and whether it is mirrored for y = -1."""
        one = self.conjugate
        mirrored = float(self.target_kind == "binary")
        return one.flat, one.rising, one.falling, one.above, one.below, mirrored

    def row_gaps(self, predictions: Array, targets: Array, changes: Array) -> tuple[Array, Array]:
        conjugates = RowConjugates.of(self, targets, np.ones(targets.shape))
        wanted = -self.row_slopes(predictions, targets)
        wanted -= self.row_curvatures(predictions, targets) * changes
        dual: Array = np.clip(wanted.astype(np.float64), -conjugates.below, conjugates.above)
        values = self.value(predictions, targets, self.parameters) + conjugates.values(dual)
        return np.maximum(values + dual * predictions, 0.0).sum(axis=1), wanted - dual

    @staticmethod
    def dual_cost(dual: float, target: float, cost: float, parameters: tuple[float, ...]) -> float:
        flat, rising, falling, _, _, mirrored = parameters
        if mirrored * target < 0:
            rising, falling = falling, rising
        curve = rising if dual > 0 else falling
        return 0.5 * curve / cost * dual * dual + flat * abs(dual) - dual * target

    @staticmethod
    def dual_minimum(
        prediction: float,
        square: float,
        dual: float,
        target: float,
        cost: float,
        parameters: tuple[float, ...],
    ) -> float:
        flat, rising, falling, above, below, mirrored = parameters
        if mirrored * target < 0:
            rising, falling, above, below = falling, rising, below, above
        slope = target - prediction + square * dual
        if slope > flat:
            bend = rising / cost + square
            # a row of zeros and a piecewise linear loss: move to the bound
            return min((slope - flat) / bend, above * cost) if bend > 0 else above * cost
        if slope < -flat:
            bend = falling / cost + square
            return max((slope + flat) / bend, -below * cost) if bend > 0 else -below * cost
        return 0.0


@dataclass(frozen=True)
class RowConjugates:
    """The conjugates (c l)*(-a) = c l*(-a / c) of c_i l(., y_i) for some rows, in arrays of one shape.

    Attributes
    ----------
    targets, flat, rising, falling, above, below : as in :class:`Conjugate`
    """

    targets: Array
    flat: float
    rising: Array
    falling: Array
    above: Array
    below: Array

    @classmethod
    def of(cls, loss: AbstractDualLoss, targets: Array, costs: Array) -> RowConjugates:
        """The conjugates of rows with ``targets`` and positive ``costs`` c of one shape."""
        one = loss.conjugate
        mirrored = (targets < 0) if loss.target_kind == "binary" else np.zeros(targets.shape, dtype=bool)
        rising = np.where(mirrored, one.falling, one.rising) / costs
        falling = np.where(mirrored, one.rising, one.falling) / costs
        above = np.where(mirrored, one.below, one.above) * costs
        below = np.where(mirrored, one.above, one.below) * costs
        return cls(targets.astype(np.float64), one.flat, rising, falling, above, below)

    @property
    def bends(self) -> bool:
        """Whether each is strictly convex on both sides of 0 inside its bounds."""
        sides = (self.rising > 0) | (self.above == 0), (self.falling > 0) | (self.below == 0)
        return bool(np.logical_and(*sides).all())

    def values(self, dual: Array) -> Array:
        """(c l)*(-a) for each row, with a inside the bounds."""
        curves = np.where(dual > 0, self.rising, self.falling)
        values: Array = 0.5 * curves * dual**2 + self.flat * np.abs(dual) - dual * self.targets
        return values


def margin_loss(loss: AbstractLoss) -> AbstractElementwiseLoss:
    """Return the loss if it is a loss of the margin.

    Raises
    ------
    InputError
        If it is not.
    """
    if isinstance(loss, AbstractElementwiseLoss) and loss.target_kind == "binary":
        return loss
    from distkern.maths.losses import MARGIN_LOSSES

    raise InputError(
        f"{loss.name!r} is not a loss of the margin y f",
        where="loss",
        hint=f"use one of {', '.join(MARGIN_LOSSES)}",
    )
