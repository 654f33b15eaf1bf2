"""Log density ratios by doubly stochastic gradients (Dai et al. 2014, Section 4; Nguyen et al. 2010).

Minimises E_q exp(f) - E_p f + nu/2 |f|^2. The paper is on the left, our code on the right:

    for i = 1 .. t:                                        DSG.stage: some of the steps, each a Growth.step
        toss a coin; draw x_i from p or from q             DSGSettings.batches: rows of both, by their weights
        draw w_i with seed i                               Growth._next_block
        f(x_i) <- sum_(j < i) alpha_j phi_wj(x_i)          Growth._ask
        alpha_i <- 2 gamma_i phi_wi(x_i) from p,           Growth._update, by DensityRatio.row_slopes
            -2 gamma_i exp(f(x_i)) phi_wi(x_i) from q
        alpha_j <- (1 - gamma_i nu) alpha_j, j < i         DSGState.scale
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from distkern.core.parameters import NOT_NEGATIVE, Parameter, declared, parameter, redeclared
from distkern.maths.features.base import GAMMA
from distkern.maths.losses.unlabelled import DensityRatio
from distkern.solvers._dsg.settings import DSGSettings
from distkern.solvers.dsg import UnpolishedDSG
from distkern.solvers.hyperparameters import SEARCHED_NU_OF_STEPS


@dataclass(frozen=True)
class DSGLogRatio(UnpolishedDSG):
    """f = log(p/q) of two samples, by the steps of :class:`~distkern.solvers.dsg.DSG`.

    Minimises E_q exp(f) - E_p f + nu/2 |f|^2, where both samples have total weight 1/2. The paper draws each
    row of a batch from p or q by a fair coin; here a batch is drawn from the rows of both, and their weights
    give the same expectation with less variance.

    Newton steps in a block use E_q[exp(f) z z'] + E_p[z z'], which is twice the Hessian at the minimum, see
    :meth:`~distkern.maths.losses.unlabelled.DensityRatio.row_bounds`.

    ``objective`` is this sum, 1 at f = 0 and 1 - KL(p, q) at log(p/q); ``train_error`` and ``test_error`` are
    shares of rows on the wrong side of 0.

    Parameters
    ----------
    as of :class:`~distkern.solvers.dsg.DSG`, without polishing
    """

    nu: float = parameter(
        1e-4, NOT_NEGATIVE, help="weight of |f|^2 / 2 against the mean loss", tried=SEARCHED_NU_OF_STEPS
    )
    n_features: int = redeclared(DSGSettings, "n_features", 2048)
    block_size: int = redeclared(DSGSettings, "block_size", 256)

    # losses grow like exp(f) where the densities differ
    damping_rows: ClassVar[float] = 10.0

    name = "dsg_density_ratio"
    choices: ClassVar[Mapping[str, Parameter]] = {
        **UnpolishedDSG.choices,
        "gamma": replace(GAMMA, default="scale/0.5"),
        "cap": declared(DensityRatio)["cap"],
    }

    @property
    def curvature(self) -> float:
        return 1.0
