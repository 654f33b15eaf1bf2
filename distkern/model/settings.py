"""Hyperparameters, each looked at once: the frozen value that all of a run and the model it finds read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from distkern.core.errors import InputError
from distkern.core.parameters import AUTO, Parameter, declared
from distkern.maths.features.kernel_choice import KernelChoice
from distkern.maths.kernels import find_kernel
from distkern.maths.losses import find_loss
from distkern.maths.losses.base import AbstractLoss
from distkern.solvers.hyperparameters import METRIC, SCALE


@dataclass(frozen=True)
class Settings:
    """The hyperparameters of an algorithm as plain Python has them.

    Attributes
    ----------
    given : by name; "auto" where that was given
    solver : class of the solver, of an algorithm that has one
    left_open : of hyperparameters that the rows decide, what is taken where they decide nothing
    searched : names of those among them that are to be searched, and have an effect
    maps_rows : whether rows may be scaled, and whether a metric may be learned, before anything else
    found : what was decided
    """

    given: Mapping[str, Any]
    solver: type[Any] | None = None
    left_open: Mapping[str, Any] = field(default_factory=dict)
    searched: tuple[str, ...] = ()
    maps_rows: tuple[bool, bool] = (False, False)
    found: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        parameters: Mapping[str, Parameter],
        values: Mapping[str, Any],
        solver: type[Any] | None = None,
        left_open: Mapping[str, Any] | None = None,
    ) -> Settings:
        """Clean each value; ``left_open`` are those that the rows decide where they have their defaults.

        Raises
        ------
        InputError
            For a value that a hyperparameter cannot have, or that has no effect beside the others.
        """
        given = {
            # a default is clean
            name: one.default if values[name] is one.default else one.clean(name, values[name])
            for name, one in parameters.items()
        }
        for name, one in parameters.items():
            other = None if is_same(given[name], one.default) else _prevents(parameters, given, name)
            if other is not None:
                choices = " or ".join(repr(value) for value in one.used_with[other])
                raise InputError(
                    f"{name}={given[name]!r} has no effect with {other}={given[other]!r}",
                    where=name,
                    hint=f"leave {name} out, or set {other} to {choices}",
                )
        open_ = {
            name: value
            for name, value in (left_open or {}).items()
            if is_same(given[name], parameters[name].default)
        }
        searched = []
        for name, one in parameters.items():
            if one.searched is not None and given[name] == AUTO:
                open_[name] = one.searched.default
                if has_effect(parameters, given, name):
                    searched.append(name)
        maps_rows = parameters.get("scale") is SCALE, parameters.get("metric") is METRIC
        return cls(given, solver, open_, tuple(searched), maps_rows)

    def finding(self, found: Mapping[str, Any]) -> Settings:
        """These with more that was decided."""
        return replace(self, found={**self.found, **found})

    def value(self, name: str) -> Any:
        """A hyperparameter's value: of those that the rows decide what was decided, or taken instead."""
        return self.found.get(name, self.left_open[name]) if name in self.left_open else self.given[name]

    def values_of(self, part: type) -> dict[str, Any]:
        """The hyperparameters that a part declares; without those that are left to its own default."""
        known = {name: one for name, one in declared(part).items() if name in self.given}
        values = {name: self.value(name) for name in known}
        return {name: one for name, one in values.items() if one is not None or known[name].can_be_none}

    def seed(self) -> int:
        """The seed that ``random_state`` gives, or a drawn one."""
        random_state = self.given.get("random_state")
        if isinstance(random_state, (int, np.integer)):
            return int(random_state)
        return int(check_random_state(random_state).randint(2**31))

    def loss(self) -> AbstractLoss:
        """The loss, with its constants."""
        kind = find_loss(self.value("loss"))
        return kind(**self.values_of(kind))

    def kernel_choice(self) -> KernelChoice:
        """The kernel, with its constants, and gamma or the rule for it."""
        kind = find_kernel(self.value("kernel"))
        constants = {name: value for name, value in self.values_of(kind).items() if name != "gamma"}
        return KernelChoice(kind, self.value("gamma"), constants)

    def row_metric(self) -> str | None:
        """The metric that is learned before anything else, if one is wanted."""
        wanted: str | None = self.value("metric") if self.maps_rows[1] else None
        return wanted

    def row_scale(self) -> str:
        """What columns are scaled by before anything else: "auto", a kind of scaling, or "none".

        Raises
        ------
        InputError
            If it would take numbers out of the kernel's domain.
        """
        if not self.maps_rows[0]:
            return "none"
        wanted = str(self.value("scale"))
        if self.given.get("features") == "linear":
            return wanted
        kernel = self.kernel_choice()
        if kernel.with_gamma(1.0).lower_bound == -math.inf:
            return wanted
        metric = self.row_metric()
        if metric is not None or wanted in ("standard", "normal", "ranks"):
            raise InputError(
                f"is {metric or wanted!r}, and kernel {kernel.kind.name} is not for negative numbers",
                where="scale" if metric is None else "metric",
                hint="use scale='minmax', 'maxabs' or 'none', without a metric",
            )
        return "none" if wanted == AUTO else wanted


def has_effect(parameters: Mapping[str, Parameter], given: Mapping[str, Any], name: str) -> bool:
    """Whether a hyperparameter has one beside the others."""
    return _prevents(parameters, given, name) is None


def _prevents(parameters: Mapping[str, Parameter], given: Mapping[str, Any], name: str) -> str | None:
    """The first hyperparameter beside whose value another one has no effect."""
    used_with = parameters[name].used_with.items()
    return next((other for other, words in used_with if other in given and given[other] not in words), None)


def is_same(value: Any, default: Any) -> bool:
    """Whether a value is the default, and of its type."""
    return value is default or (type(value) is type(default) and bool(np.array_equal(value, default)))
