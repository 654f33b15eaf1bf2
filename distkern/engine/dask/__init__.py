"""The parts of the executors: graphs, actors, calls to workers, connections to schedulers."""

import os
import sys
import threading
from typing import Any
from weakref import WeakSet

_of_parent: WeakSet[Any] = WeakSet()


def is_of_parent(client: Any) -> bool:
    """Return whether a fork copied this client, without the thread that runs its loop."""
    return client in _of_parent


def _after_fork() -> None:
    client = sys.modules.get("distributed.client")
    if client is not None:
        _of_parent.update(client.Client._instances)
    # the pools of Dask's threaded scheduler lost their threads too
    threaded: Any = sys.modules.get("dask.threaded")
    if threaded is not None:
        threaded.default_pool, threaded.pools_lock = None, threading.Lock()
        threaded.pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
