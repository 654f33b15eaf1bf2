"""Predictions of a data set by a basis that no process keeps: where its passes run, and what they write."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from distkern.bases.base import AbstractBasis
from distkern.bases.placed import AbstractPlacedBasis
from distkern.bases.routing import Found, Routing
from distkern.common import blas
from distkern.engine.budget import Machine
from distkern.engine.drive import Driver
from distkern.runs.learner import Learner
from distkern.runs.spooled import temporary_folder
from distkern.storage.atomic import staged_folder
from distkern.storage.dataset import Split
from distkern.storage.parts import SlicedParts
from distkern.storage.places import Location, place_of


def routing_of(
    model: Learner, source: Split, split: str, out: Location | None, machine: Machine
) -> Routing | None:
    """The passes for a model that is not kept, and None for any other; also where rows are sparse, or where
    workers of other hosts would not see them moved: ``out`` is where the predictions go, if anywhere."""
    basis = unkept(model.basis(source.dtype), out, machine)
    if basis is None or source.is_sparse:
        return None
    preparation = model.preparation_for(source)
    prepare = None if preparation is None else preparation.apply_rows
    return Routing(basis.sizes, source.block_rows, split, basis, prepare)


def unkept(basis: AbstractBasis, out: Location | None, machine: Machine) -> AbstractPlacedBasis | None:
    """A basis that no process keeps, where workers can see what lies beside the predictions."""
    away = machine.kind == "distributed" and not machine.same_host
    if away and not (out is not None and isinstance(place_of(out), Path)):
        return None
    return basis if isinstance(basis, AbstractPlacedBasis) and not basis.is_kept else None


def scratch_folder(out: Location | None, stack: ExitStack) -> Path:
    """A folder beside the predictions, or in ``TMPDIR``, that is there until ``stack`` closes."""
    place = None if out is None else place_of(out)
    if isinstance(place, Path):
        return stack.enter_context(staged_folder(place.with_name(f"{place.name}.rows"))).path
    return temporary_folder(stack)


def run(routing: Routing, driver: Driver, folder: Path) -> Found:
    """What the passes find, as long as the folder is there."""
    steps: Generator[Any, Any, Found] = routing.steps(
        lambda name, layout: SlicedParts(folder / name, name, layout, stays=False)
    )
    records = None
    with blas.single_threaded():
        try:
            while True:
                records = driver.each(steps.send(records))
        except StopIteration as stop:
            found: Found = stop.value
    return found
