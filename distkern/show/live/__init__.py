"""The live page ``/distkern`` on the dashboard of Dask's scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distkern.engine.events import Listener

__all__ = ["forwarder", "install"]


def install(client: Any) -> str:
    """Serve the page on the scheduler of a connected client; return its URL.

    The scheduler needs Bokeh, as its own dashboard does, but not distkern: the page's modules are sent by
    value. One page serves all runs of a scheduler, so installing it again changes nothing.
    """
    from distkern.show.live.preload import install_page

    return install_page(client)


def forwarder(client: Any, run: Mapping[str, Any]) -> Listener:
    """Return a listener that sends a run's events to the page; see
    :class:`distkern.show.live.forward.Forwarder`.
    """
    from distkern.show.live.forward import Forwarder

    return Forwarder(client, run)
