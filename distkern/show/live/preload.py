"""The page on a scheduler: ``dask scheduler --preload distkern.show.live.preload``, or from a client."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Iterator, Mapping
from typing import Any

from bokeh.application import Application
from bokeh.application.handlers.function import FunctionHandler
from distributed.diagnostics.plugin import SchedulerPlugin
from distributed.protocol.pickle import cloudpickle

from distkern.show.live.forward import TOPIC
from distkern.show.live.history import ClusterView, NewestRun
from distkern.show.live.page import open_page

#: name of the plugin and of the page
NAME = "distkern"


class DashboardPlugin(SchedulerPlugin):  # type: ignore[misc]
    """Serves ``/distkern`` on the scheduler's dashboard.

    It is registered once per scheduler. Earlier events are read from the topic, of which the scheduler keeps
    1000 messages.
    """

    name = NAME
    idempotent = True

    def __init__(self) -> None:
        self.newest = NewestRun(self._belongs)
        self._scheduler: Any = None

    async def start(self, scheduler: Any) -> None:
        self._scheduler = scheduler
        for _, message in scheduler.get_events(TOPIC):
            self.newest.add(message)
        serve(scheduler, functools.partial(open_page, self.newest, self.cluster))

    def _belongs(self, facts: Mapping[str, Any]) -> bool:
        """Return whether a run was started on this scheduler, or its client has connected since.

        A message to a dead scheduler may reach the next one at its address.
        """
        started_here = facts.get("scheduler") in (None, "", self._scheduler.id)
        return started_here or facts.get("client") in self._scheduler.clients

    def log_event(self, topic: str, msg: Any) -> None:
        if topic == TOPIC:
            self.newest.add(msg)

    def remove_client(self, scheduler: Any, client: str) -> None:
        run = self.newest.history
        if run is not None and run.facts.get("client") == client:
            run.stop()

    def cluster(self) -> ClusterView:
        """The current workers."""
        workers = self._scheduler.workers.values()
        return ClusterView(
            str(self._scheduler.address),
            len(workers),
            sum(int(worker.nthreads) for worker in workers),
            sum(int(worker.metrics.get("memory", 0)) for worker in workers),
            sum(int(worker.memory_limit or 0) for worker in workers),
        )


def serve(scheduler: Any, modify: Any) -> None:
    """Add a Bokeh page to the dashboard of a running scheduler, or replace it."""
    import dask
    from bokeh.server.util import create_hosts_allowlist
    from distributed.dashboard.core import DaskBokehTornado

    application = scheduler.http_application
    for old in [known for known in application.applications if getattr(known, "_distkern", False)]:
        application.applications.remove(old)
    settings = dict(dask.config.get("distributed.scheduler.dashboard.bokeh-application"))
    origins = create_hosts_allowlist(settings.pop("allow_websocket_origin"), scheduler.http_server.port)
    pages = DaskBokehTornado(
        {f"/{NAME}": Application(FunctionHandler(modify))},
        prefix="/",
        use_index=False,
        extra_websocket_origins=origins,
        absolute_url="",
        **settings,
    )
    pages._distkern = True
    application.add_application(pages)
    pages.initialize(io_loop=scheduler.loop)
    pages.start()


async def dask_setup(scheduler: Any) -> None:
    """Install the page; Dask calls this with a starting scheduler."""
    plugin = DashboardPlugin()
    await plugin.start(scheduler)
    scheduler.add_plugin(plugin, name=NAME, idempotent=True)


#: modules sent by value: the plugin's and those it uses
TRAVELLING = (
    "distkern.show.live.forward",
    "distkern.show.live.fragments",
    "distkern.show.live.history",
    "distkern.show.live.page",
    "distkern.show.live.preload",
    "distkern.engine.events",
    "distkern.show.style",
    "distkern.show.page",
    "distkern.show.passes",
    "distkern.show.plots",
    "distkern.core.templates",
    "distkern.core.text",
)


def install(client: Any) -> str:
    """Serve the page on the scheduler of a connected client, unless it is there already; return its URL.

    The scheduler needs Bokeh, as its own dashboard does, but not distkern: modules are sent by value.
    """
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
