"""Predictions of a data set by a basis that no process keeps."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Generator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import Any

from numpy.typing import NDArray

from distkern.core import blas
from distkern.core.types import Floats, Reader
from distkern.data.dataset import Split
from distkern.data.store.atomic import staged_folder, temporary_folder
from distkern.data.store.parts import SlicedParts
from distkern.data.store.places import Location, place_of
from distkern.engine.drive import Driver
from distkern.engine.executors import open_executor
from distkern.maths.bases.base import AbstractBasis
from distkern.maths.bases.placed import AbstractPlacedBasis
from distkern.maths.bases.routing import RoutedAnswers, Routing
from distkern.model.applied import Applied
from distkern.model.value import FittedModel
from distkern.passes import Machine


def routing_of(
    model: FittedModel, source: Split, split: str, out: Location | None, machine: Machine
) -> Routing | None:
    """The passes for a model that is not kept, and None for any other; also where rows are sparse, or where
    workers of other hosts would not see them moved: ``out`` is where the predictions go, if anywhere."""
    basis = unkept(model.basis(source.dtype), out, machine)
    if basis is None or source.is_sparse:
        return None
    preparation = model.columns.preparation(source.dataset)
    prepare = None if preparation is None else preparation.apply_rows
    return Routing(basis.sizes, source.block_rows, split, basis, prepare)


def unkept(basis: AbstractBasis, out: Location | None, machine: Machine) -> AbstractPlacedBasis | None:
    """A basis that no process keeps, where workers can see the folder of the predictions."""
    away = machine.kind == "distributed" and not machine.same_host
    if away and not (out is not None and isinstance(place_of(out), Path)):
        return None
    return basis if isinstance(basis, AbstractPlacedBasis) and not basis.is_kept else None


def scratch_folder(out: Location | None, stack: ExitStack) -> Path:
    """A folder beside the predictions, or in ``TMPDIR``, that is there until ``stack`` closes."""
    place = None if out is None else place_of(out)
    if isinstance(place, Path):
        return stack.enter_context(staged_folder(place.with_name(f"{place.name}.rows"))).path
    return stack.enter_context(temporary_folder())


def answers_of(
    model: FittedModel, split: Split, output: str
) -> Callable[[int, int, Reader], NDArray[Any]] | None:
    """A picklable function of the number of a block of a split, its rows and its reader, that says what
    :meth:`~distkern.runs.estimator.Estimator.answer` makes of its rows; None where no model is asked.

    The places are asked here, on the active scheduler: what they say is kept in a folder of ``TMPDIR`` until
    the process ends, for it is not known who still has arrays that are made of it.
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
    """What the passes find, as long as the folder is there."""
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
