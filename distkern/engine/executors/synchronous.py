"""The executor that does everything in the calling thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dask.local
from dask.callbacks import Callback

from distkern.engine.executors.local import AbstractLocalExecutor, with_active
from distkern.passes.machine import Machine


class SynchronousExecutor(AbstractLocalExecutor):
    """Everything in the calling thread."""

    name = kind = "synchronous"

    def _machine(self, workers: int, memory_limit: int | None) -> Machine:
        return Machine(self.kind, 1, memory_limit)

    def _get(self, graph: Mapping[Any, Any], key: Any, *callbacks: Callback) -> Any:
        return dask.local.get_sync(graph, key, callbacks=with_active(callbacks))
