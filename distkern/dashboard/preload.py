"""Put the page on a scheduler: ``dask scheduler --preload distkern.dashboard.preload``, or from a client."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

from distributed.protocol.pickle import cloudpickle

from distkern.dashboard.plugin import NAME, DashboardPlugin


async def dask_setup(scheduler: Any) -> None:
    """Called by Dask with the scheduler that starts."""
    plugin = DashboardPlugin()
    await plugin.start(scheduler)
    scheduler.add_plugin(plugin, name=NAME, idempotent=True)


#: modules that travel by value: the plugin's and all that it uses
TRAVELLING = (
    "distkern.dashboard.forward",
    "distkern.dashboard.fragments",
    "distkern.dashboard.history",
    "distkern.dashboard.page",
    "distkern.dashboard.plugin",
    "distkern.dashboard.series",
    "distkern.dashboard.state",
    "distkern.dashboard.style",
    "distkern.engine.events",
    "distkern.monitor.balance",
    "distkern.monitor.style",
    "distkern.monitor.page",
    "distkern.monitor.plots",
    "distkern.monitor.recorder",
    "distkern.monitor.text",
)


def install_page(client: Any) -> str:
    """Register the plugin on the client's scheduler, unless it is there; return the URL of the page."""
    with _by_value():
        client.register_plugin(DashboardPlugin(), name=NAME)
    link = str(client.dashboard_link or "")
    return link.removesuffix("/").removesuffix("/status") + f"/{NAME}"


@contextlib.contextmanager
def _by_value() -> Iterator[None]:
    # a scheduler may have another distkern, or none
    known = set(cloudpickle.list_registry_pickle_by_value())
    modules = [importlib.import_module(name) for name in TRAVELLING if name not in known]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
