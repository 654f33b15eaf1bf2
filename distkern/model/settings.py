"""Hyperparameters after one validation: the frozen value that a run and its model read."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from distkern.core.common_parameters import METRIC, SCALE
from distkern.core.errors import InputError
from distkern.core.parameters import AUTO, Parameter, declared
from distkern.maths.features.base import KernelChoice
from distkern.maths.kernels import find_kernel
from distkern.maths.losses import find_loss
from distkern.maths.losses.base import AbstractLoss


class AbstractSettings(ABC):
    """The values of hyperparameters, and the parts that they describe."""

    found: Mapping[str, Any]

    @property
    @abstractmethod
    def cleaned(self) -> Settings:
        """Return the settings with the declarations of their hyperparameters."""

    @abstractmethod
    def has(self, name: str) -> bool:
        """Whether there is a hyperparameter of that name."""

    @abstractmethod
    def value(self, name: str) -> Any:
        """Return a hyperparameter's value; if the rows decide it, the decided value or its substitute."""

    def values_of(self, part: type) -> dict[str, Any]:
        """Return the hyperparameters that a part declares, without those left to the part's own default."""
        known = {name: one for name, one in declared(part).items() if self.has(name)}
        values = {name: self.value(name) for name in known}
        return {name: one for name, one in values.items() if one is not None or known[name].can_be_none}

    def loss(self) -> AbstractLoss:
        kind = find_loss(self.value("loss"))
        return kind(**self.values_of(kind))

    def kernel_choice(self) -> KernelChoice:
        """Return the kernel with its constants, and gamma or a rule for gamma."""
        kind = find_kernel(self.value("kernel"))
        constants = {name: value for name, value in self.values_of(kind).items() if name != "gamma"}
        return KernelChoice(kind, self.value("gamma"), constants)


@dataclass(frozen=True)
class StoredSettings(AbstractSettings):
    """The settings of a model that this version has stored, after it had cleaned them.

    Attributes
    ----------
    params : hyperparameters as the file stores them
    found : values that were decided
    clean : returns the same settings cleaned, for everything but predictions
    """

    params: Mapping[str, Any]
    found: Mapping[str, Any]
    clean: Callable[[], Settings]

    @cached_property
    def cleaned(self) -> Settings:
        return self.clean()

    def has(self, name: str) -> bool:
        return name in self.params

    def value(self, name: str) -> Any:
        if name in self.found:
            return self.found[name]
        # "auto" may have a substitute
        return self.cleaned.value(name) if self.params[name] == AUTO else self.params[name]


@dataclass(frozen=True)
class Settings(AbstractSettings):
    """The hyperparameters of an algorithm as plain Python objects.

    Attributes
    ----------
    given : value by name; "auto" if that was given
    solver : class of the solver, if the algorithm has one
    left_open : values of hyperparameters that depend on the rows, used if the rows decide nothing
    searched : names of the hyperparameters to search, which have an effect
    maps_rows : whether rows may be scaled, and whether a metric may be learned, before the model
    found : values that were decided
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
        """Clean each value; ``left_open`` names the hyperparameters that depend on the rows if they have
        their defaults.

        Raises
        ------
        InputError
            If a value is invalid, or has no effect with the other values.
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
        return replace(self, found={**self.found, **found})

    @property
    def cleaned(self) -> Settings:
        return self

    def has(self, name: str) -> bool:
        return name in self.given

    def value(self, name: str) -> Any:
        return self.found.get(name, self.left_open[name]) if name in self.left_open else self.given[name]

    def seed(self) -> int:
        random_state = self.given.get("random_state")
        if isinstance(random_state, (int, np.integer)):
            return int(random_state)
        # workers, which load models, have no use for it
        from sklearn.utils import check_random_state

        return int(check_random_state(random_state).randint(2**31))

    def row_metric(self) -> str | None:
        """Return the metric to learn before the model, or None."""
        wanted: str | None = self.value("metric") if self.maps_rows[1] else None
        return wanted

    def row_scale(self) -> str:
        """Return the scaling of columns before the model: "auto", a kind of scaling, or "none".

        Raises
        ------
        InputError
            If the scaling would leave the kernel's domain.
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
                f"is {metric or wanted!r}, and kernel {kernel.kind.name} does not accept negative numbers",
                where="scale" if metric is None else "metric",
                hint="use scale='minmax', 'maxabs' or 'none', without a metric",
            )
        return "none" if wanted == AUTO else wanted


def has_effect(parameters: Mapping[str, Parameter], given: Mapping[str, Any], name: str) -> bool:
    """Return whether a hyperparameter has an effect with the other values."""
    return _prevents(parameters, given, name) is None


def _prevents(parameters: Mapping[str, Parameter], given: Mapping[str, Any], name: str) -> str | None:
    """Return the first hyperparameter whose value prevents an effect of another one."""
    used_with = parameters[name].used_with.items()
    return next((other for other, words in used_with if other in given and given[other] not in words), None)


def is_same(value: Any, default: Any) -> bool:
    """Return whether a value equals the default and has its type."""
    return value is default or (type(value) is type(default) and bool(np.array_equal(value, default)))


@dataclass(frozen=True)
class ChosenBy:
    """Which algorithm was chosen for the rows, and by which estimator.

    Attributes
    ----------
    name, params : saved name and hyperparameters of the estimator that chose
    estimator : name of its class
    because : the reason, a clause
    settings : hyperparameters of the chosen algorithm that differ from the estimator's
    held_out : score on held-out rows and its standard error, or None
    """

    name: str
    params: Mapping[str, Any]
    estimator: str
    because: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    held_out: tuple[float, float] | None = None

    def measured(self, state: Any, *, weighs_classes: bool) -> ChosenBy:
        """Return the choice with the held-out score of the run's last state, if it has one."""
        found = getattr(state, "held_out", None)
        if found is None or weighs_classes or not np.isfinite(found).all():
            return self
        return replace(self, held_out=(float(found[0]), float(found[1])))


class SavedAs:
    """Name and hyperparameters under which an algorithm is saved, even if another estimator chose it."""

    name: str
    params: Mapping[str, Any]
    chosen: ChosenBy | None

    @cached_property
    def saved_name(self) -> str:
        """Name of the algorithm in files: the estimator that chose it, if one did."""
        return self.name if self.chosen is None else self.chosen.name

    @cached_property
    def saved_params(self) -> Mapping[str, Any]:
        """Hyperparameters in files."""
        return self.params if self.chosen is None else self.chosen.params
