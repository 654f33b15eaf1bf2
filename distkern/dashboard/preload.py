"""``dask scheduler --preload distkern.dashboard.preload`` serves the page from the scheduler's start."""

from __future__ import annotations

from typing import Any

from distkern.dashboard.plugin import NAME, DashboardPlugin


async def dask_setup(scheduler: Any) -> None:
    """Called by Dask with the scheduler that starts."""
    plugin = DashboardPlugin()
    await plugin.start(scheduler)
    scheduler.add_plugin(plugin, name=NAME, idempotent=True)
