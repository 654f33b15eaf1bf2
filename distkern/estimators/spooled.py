"""Dask arrays for solvers that read single rows and columns: a data set that lasts as long as the fit."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from distkern.core.errors import InputError
from distkern.core.types import AbstractSource
from distkern.engine.drive import whole_blocks
from distkern.engine.executors import AbstractExecutor
from distkern.storage.dataset import Split
from distkern.storage.ingest import write_dataset


def spooled(source: AbstractSource, executor: AbstractExecutor, stack: ExitStack, *, columns: bool) -> Split:
    """The rows of a lazy source, computed once and written in order, as float32, to this host's ``TMPDIR``.

    Parameters
    ----------
    source : targets are the labels themselves
    executor : computes the blocks, a few at a time
    stack : removes the data set when it closes
    columns : add the feature-major copy

    Raises
    ------
    InputError
        If workers on other hosts could not see the data set.
    """
    machine = executor.machine
    if machine.kind == "distributed" and not machine.same_host:
        raise InputError(
            "single rows of Dask arrays can be read on one host only", where="the data",
            mend="store them where all workers see them, make a data set of it with `distkern shard ... "
            "--columns`, and fit to its train split",
        )  # fmt: skip
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="distkern-")))
    chunks = ((block.features, block.targets) for block in whole_blocks(source, executor))
    return write_dataset(chunks, folder / "rows.zarr", scale="none", shuffle=False, columns=columns).train
