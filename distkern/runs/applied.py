"""A model applied to the blocks of a split, also with a basis that no process keeps in memory."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Generator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core import blas
from distkern.core.sparse import Rows
from distkern.core.types import Block, Floats, Reader
from distkern.data.dataset import Split
from distkern.data.scaling import Preparation
from distkern.data.store.atomic import staged_folder, temporary_folder
from distkern.data.store.parts import SlicedParts
from distkern.data.store.places import Location, place_of
from distkern.engine.drive import Driver
from distkern.engine.executors import open_executor
from distkern.maths.bases.base import AbstractBasis
from distkern.maths.bases.placed import AbstractPlacedBasis
from distkern.maths.bases.routing import RoutedAnswers, Routing
from distkern.model.value import FittedModel
from distkern.passes import Cost, Machine


def combining_cost(basis: AbstractBasis, row_numbers: int, n_rows: int) -> Cost:
    """Cost of combining a basis at the rows of a block, including prepared rows."""
    cost = Cost(process_bytes=basis.process_bytes, compiled=basis.is_compiled)
    return cost.holding(
        task={"a tile": (basis.combining_bytes(row_numbers),), "prepared rows": (n_rows, row_numbers, 4)}
    )


@dataclass(frozen=True)
class Applied:
    """A model in the operands of passes that evaluate it.

    Attributes
    ----------
    losses : function of predictions and their rows: the sum of s_i l_i
    preparation : preparation of the rows, or None
    found : answers of the places of a model that is not kept in memory, or None
    """

    basis: AbstractBasis
    coefficients: Floats
    intercept: NDArray[np.float64]
    losses: Callable[[Floats, Block], float]
    preparation: Preparation | None
    found: RoutedAnswers | None = None

    @classmethod
    def to(cls, split: Split, model: FittedModel, found: RoutedAnswers | None = None) -> Applied:
        return cls.of(model, split.dtype, model.columns.preparation(split.dataset), found)

    @classmethod
    def of(
        cls,
        model: FittedModel,
        dtype: DTypeLike,
        preparation: Preparation | None,
        found: RoutedAnswers | None,
    ) -> Applied:
        basis = model.applied_basis(dtype)
        own = model.coefficients, model.constants, model.risk.losses
        return cls(basis, *own, preparation, found)

    def predictions(self, block: Block) -> Floats:
        """Return f, (n_rows, n_outputs), in the dtype of the basis, or float64 with an intercept."""
        values = self.combined(block.index, block.n_rows, block.features)
        return values.astype(np.float64) + self.intercept if self.intercept.any() else values

    def combined(self, number: int, n_rows: int, features: Rows | None) -> Floats:
        """Return Phi coef of a block; the features may be None if the places have answered."""
        if self.found is not None:
            return self.found.combine(number, n_rows, self.coefficients)
        assert features is not None
        if self.preparation is not None:
            features = self.preparation.apply_rows(features, features.dtype)
        return self.basis.combine(features, self.coefficients)

    def cost(self, row_numbers: int, n_rows: int) -> Cost:
        """Return the cost of predicting a block of ``n_rows`` rows of ``row_numbers`` numbers each."""
        if self.found is not None:
            return self.found.cost(n_rows)
        own = combining_cost(self.basis, row_numbers, n_rows)
        return own.holding(task={"coefficients": (2, self.coefficients.nbytes)})


def routing_of(
    model: FittedModel, source: Split, split: str, out: Location | None, machine: Machine
) -> Routing | None:
    """Return the passes for a model that is not kept in memory, and None for any other model.

    Also None if rows are sparse, or workers on other hosts would not see the routed rows. ``out`` is the
    place of the predictions, if they are written.
    """
    basis = unkept(model.basis(source.dtype), out, machine)
    if basis is None or source.is_sparse:
        return None
    preparation = model.columns.preparation(source.dataset)
    prepare = None if preparation is None else preparation.apply_rows
    return Routing(basis.sizes, source.block_rows, split, basis, prepare)


def unkept(basis: AbstractBasis, out: Location | None, machine: Machine) -> AbstractPlacedBasis | None:
    """Return the basis if no process keeps it in memory and workers can see the folder of the predictions."""
    away = machine.kind == "distributed" and not machine.same_host
    if away and not (out is not None and isinstance(place_of(out), Path)):
        return None
    return basis if isinstance(basis, AbstractPlacedBasis) and not basis.is_kept else None


def scratch_folder(out: Location | None, stack: ExitStack) -> Path:
    """Return a temporary folder next to the predictions, or in ``TMPDIR``, removed when ``stack`` closes."""
    place = None if out is None else place_of(out)
    if isinstance(place, Path):
        return stack.enter_context(staged_folder(place.with_name(f"{place.name}.rows"))).path
    return stack.enter_context(temporary_folder())


def answers_of(
    model: FittedModel, split: Split, output: str
) -> Callable[[int, int, Reader], NDArray[Any]] | None:
    """Return a picklable function from a block's number, rows and reader to its answers.

    None for a model that is kept in memory. The places answer here, on the active scheduler. Their answers
    stay in a folder of ``TMPDIR`` until the process ends, because arrays made from them may still be in use.
    """
    if unkept(model.basis(split.dtype), None, Machine("synchronous", 1)) is None:
        return None
    with open_executor() as executor:
        routing = routing_of(model, split, split.name, None, executor.machine)
        if routing is None:
            return None
        stack = ExitStack()
        atexit.register(stack.close)
        folder = stack.enter_context(temporary_folder())
        found = run(routing, Driver({split.name: split}, executor), folder)
        rmtree(folder / "moved")
    return partial(_answer_block, Applied.to(split, model, found), model.answer(output))


def _answer_block(
    applied: Applied, answer: Callable[[Floats], NDArray[Any]], number: int, n_rows: int, _: Reader
) -> NDArray[Any]:
    with blas.single_threaded():
        return answer(applied.combined(number, n_rows, None))


def run(routing: Routing, driver: Driver, folder: Path) -> RoutedAnswers:
    """Run the passes and return the answers, which need the folder."""
    steps: Generator[Any, Any, RoutedAnswers] = routing.steps(
        lambda name, layout: SlicedParts(folder / name, name, layout, stays=False)
    )
    records = None
    try:
        while True:
            records = driver.each(steps.send(records))
    except StopIteration as stop:
        found: RoutedAnswers = stop.value
    return found
