"""What a loss is.

To add one, write a file in this folder with a frozen dataclass that derives from :class:`AbstractLoss`,
gives itself a ``name`` and implements the members below; the contract tests pick it up.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

#: what ``value`` and ``derivative`` take and return: arrays of one shape, or scalars inside compiled loops
Numbers = Any


@dataclass(frozen=True)
class AbstractLoss(ABC):
    """A convex loss l(f, y) of a real prediction f and a target y.

    ``value`` and ``derivative`` are static functions of (prediction, target, parameters) written with
    numpy ufuncs only, so that one source serves whole arrays in a pass and scalars in a compiled inner
    loop. ``parameters`` is the tuple of floats that :attr:`parameters` gives.
    """

    name: ClassVar[str]
    #: "binary": targets are -1 and +1; "real": targets are real numbers
    target_kind: ClassVar[str]

    @classmethod
    def from_parameters(cls, **available: float) -> Self:
        """Build the loss, taking from the ``available`` constants those it has."""
        return cls(**{name: value for name, value in available.items() if name in cls.__dataclass_fields__})

    @property
    def parameters(self) -> tuple[float, ...]:
        """The loss's own constants, as ``value`` and ``derivative`` expect them."""
        return ()

    @staticmethod
    @abstractmethod
    def value(prediction: Numbers, target: Numbers, parameters: tuple[float, ...]) -> Numbers:
        """l(f, y), elementwise."""

    @staticmethod
    @abstractmethod
    def derivative(prediction: Numbers, target: Numbers, parameters: tuple[float, ...]) -> Numbers:
        """dl/df at (f, y), elementwise; at a kink, the one-sided derivative of smallest modulus."""

    @property
    @abstractmethod
    def curvature(self) -> float:
        """Smallest c with |l'(f, y) - l'(g, y)| <= c |f - g|; infinite where l' jumps."""

    @property
    @abstractmethod
    def norm_bound(self) -> float:
        """Largest value of -f l'(f, y): the optimum of 1/2|w|^2 + (lam/m) sum l has |w|^2 <= lam * this.

        From <w*, grad f(w*)> = 0. Where the optimum of a coreset problem may exceed the bound the solver
        says so.
        """
