"""What trials of a kernel's width and of nu run instead of many random features."""

from __future__ import annotations

import math
from typing import Any

from distkern.features import AbstractFeatures
from distkern.features.kernel_choice import KernelChoice
from distkern.features.nystroem import Nystroem
from distkern.features.random import Random
from distkern.kernels import AbstractTileKernel
from distkern.solvers.newton import Newton
from distkern.solvers.risk import Risk
from distkern.solvers.searchable import AbstractSearchable
from distkern.solvers.svrg import SVRG


def near_machine(risk: Risk, kernel: KernelChoice, nu: float) -> AbstractSearchable[Any]:
    """A solver of nu/2 |f|^2 + the mean loss that comes near the kernel's own machine with few functions.

    It is over Nystroem features: for the kernels' widths that matter, some hundred of them are closer to the
    kernel than thousands of random ones, among which wide kernels look best only because they are easily
    approximated. A kernel without tiles has random features alone.

    Newton's method makes one stage, whose steps are those of a Hessian at 0 and of what BFGS adds to it; a
    loss whose slope jumps takes a few stages of SVRG.
    """
    tiles = issubclass(kernel.kind, AbstractTileKernel)
    features: AbstractFeatures = Nystroem(kernel) if tiles else Random(kernel)
    if math.isfinite(risk.loss.curvature):
        return Newton(risk, features.spanning(), nu=nu, hessian="matrix", stages=1)
    return SVRG(risk, features, nu=nu, stages=3)
