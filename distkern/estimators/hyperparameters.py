"""What the estimators do with their hyperparameters: constructors, checks, the parts made of them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from distkern.common.errors import InputError, unknown_name
from distkern.common.parameters import AUTO, Parameter, declared
from distkern.features.kernel_choice import KernelChoice
from distkern.kernels import find_kernel
from distkern.losses import find_loss
from distkern.losses.base import AbstractLoss
from distkern.solvers.hyperparameters import METRIC, SCALE


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and np.array_equal(value, default))


def give_constructor(estimator: type, parameters: Mapping[str, Parameter]) -> None:
    """Give a class the constructor and the docstring's table that go with its hyperparameters."""

    def __init__(self: Any, **given: Any) -> None:
        for name in given:
            if name not in parameters:
                error = unknown_name(f"hyperparameter of {estimator.__name__}", name, parameters)
                raise TypeError(str(error))
        for name, parameter in parameters.items():
            setattr(self, name, given.get(name, parameter.default))

    signature = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)] + [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=parameter.default)
        for name, parameter in parameters.items()
    ]
    __init__.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{estimator.__qualname__}.__init__"
    estimator.__init__ = __init__  # type: ignore[misc]
    table = "\n".join(
        f"{name} : {parameter.description}; default {parameter.default!r}\n    {parameter.help}"
        for name, parameter in parameters.items()
    )
    text, mark, examples = inspect.cleandoc(estimator.__doc__ or "").partition("\nExamples\n")
    estimator.__doc__ = f"{text.rstrip()}\n\nParameters\n----------\n{table}\n{mark}{examples}"


class Hyperparameters:
    """What an object with hyperparameters can do with them; a subclass names them in ``hyperparameters``."""

    hyperparameters: ClassVar[dict[str, Parameter]]
    #: what was found for those that are searched
    found_: Mapping[str, Any] = MappingProxyType({})

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        if "hyperparameters" in vars(cls):
            give_constructor(cls, cls.hyperparameters)

    def check_values(self) -> None:
        """Refuse a value that a hyperparameter cannot have, or that has no effect beside the others.

        Raises
        ------
        InputError
            Naming the hyperparameter and its range, or the setting with which it would have an effect.
        """
        values = {name: self.given(name) for name in self.hyperparameters}
        for name, parameter in self.hyperparameters.items():
            if _same(values[name], parameter.default):
                continue
            for other, wanted in parameter.used_with.items():
                if other in values and values[other] not in wanted:
                    choices = " or ".join(repr(value) for value in wanted)
                    raise InputError(
                        f"{name}={values[name]!r} has no effect with {other}={values[other]!r}",
                        where=name,
                        hint=f"leave {name} out, or set {other} to {choices}",
                    )

    def given(self, name: str) -> Any:
        """A hyperparameter as plain Python has it; :class:`InputError` if it cannot be what it is."""
        return self.hyperparameters[name].clean(name, getattr(self, name))

    def value(self, name: str) -> Any:
        """A hyperparameter's value as plain Python has it, after the search if it is one that is searched.

        For one that can be searched and is "auto", it is what was found, or else what is taken where nothing
        is tried.
        """
        choices = self.hyperparameters[name].searched
        if choices is None or self.given(name) != AUTO:
            return self.given(name)
        return self.found_.get(name, choices.default)

    def open_names(self) -> list[str]:
        """The hyperparameters that are to be searched, of those that have an effect beside the others."""
        return [
            name
            for name, parameter in self.hyperparameters.items()
            if parameter.searched is not None and self.given(name) == AUTO and self.has_effect(name)
        ]

    def has_effect(self, name: str) -> bool:
        """Whether a hyperparameter has one beside the others."""
        return all(
            self.given(other) in words
            for other, words in self.hyperparameters[name].used_with.items()
            if other in self.hyperparameters
        )

    def changed(self) -> set[str]:
        """The hyperparameters that have another value than their default."""
        return {
            name for name, one in self.hyperparameters.items() if not _same(getattr(self, name), one.default)
        }

    def stored_params(self) -> dict[str, Any]:
        """The hyperparameters as files have them."""
        return {name: getattr(self, name) for name in self.hyperparameters}

    def values_of(self, part: type) -> dict[str, Any]:
        """The hyperparameters that a part declares; without those that are left to its own default."""
        values = {name: self.value(name) for name in declared(part) if name in self.hyperparameters}
        return {
            name: value
            for name, value in values.items()
            if value is not None or declared(part)[name].can_be_none
        }

    def _loss(self) -> AbstractLoss:
        """The loss, with its constants."""
        kind = find_loss(self.value("loss"))
        return kind(**self.values_of(kind))

    def row_scale(self) -> str:
        """What columns are scaled by before anything else: "auto", a kind of scaling, or "none".

        Raises
        ------
        InputError
            If it would take numbers out of the kernel's domain.
        """
        if self.hyperparameters.get("scale") is not SCALE:
            return "none"
        wanted = str(self.value("scale"))
        if "features" in self.hyperparameters and self.value("features") == "linear":
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

    def row_metric(self) -> str | None:
        """The metric that is learned before anything else, if one is wanted."""
        wanted: str | None = self.value("metric") if self.hyperparameters.get("metric") is METRIC else None
        return wanted

    def kernel_choice(self) -> KernelChoice:
        """The kernel, with its constants, and gamma or the rule for it."""
        kind = find_kernel(self.value("kernel"))
        constants = {name: value for name, value in self.values_of(kind).items() if name != "gamma"}
        return KernelChoice(kind, self.value("gamma"), constants)
