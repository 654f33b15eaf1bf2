"""The executor on threads of this process."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

import dask.threaded
from dask.callbacks import Callback

from distkern.engine.executors.local import AbstractPoolExecutor, with_active


class ThreadsExecutor(AbstractPoolExecutor):
    """Threads of this process."""

    name = kind = "threads"

    def _open_pool(self) -> Executor:
        return ThreadPoolExecutor(self.machine.n_workers, "distkern-task")

    def _get(self, graph: Mapping[Any, Any], key: Any, *callbacks: Callback) -> Any:
        return dask.threaded.get(
            graph, key, num_workers=self.machine.n_workers, callbacks=with_active(callbacks)
        )
