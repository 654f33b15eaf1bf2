"""DSG for a loss of its own, of which polishing knows nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from distkern.common.choices import Choices
from distkern.common.parameters import Parameter
from distkern.solvers.dsg import DSG


@dataclass(frozen=True)
class UnpolishedDSG(DSG):
    """DSG without a choice of losses, without polishing and without trials."""

    polish: str | None = None
    n_sweeps: int = 2

    searched: ClassVar[Mapping[str, Choices]] = {}
    choices: ClassVar[Mapping[str, Parameter]] = {
        key: one for key, one in DSG.choices.items() if key != "loss"
    }
