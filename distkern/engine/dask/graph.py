"""Calls as explicit Dask graphs that combine results in a fixed order."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import cloudpickle
from dask._task_spec import DataNode, Task, TaskRef
from dask.local import get_sync

from distkern.core.types import AbstractSource, Block
from distkern.passes.execution import FAN_IN, Call, Shared, fold


def reduce_graph(
    name: str, calls: Sequence[Call], combine: Callable[..., Any], within: tuple[Any, ...] = ()
) -> tuple[dict[Any, Any], list[Any], list[Any]]:
    """Return the graph, the keys of the tasks that read data, and the keys of the last partial results.

    ``within``: see :func:`call_graph`. The caller combines the last results, at most 8: a task would cost
    another round of messages.

    Keys are (name, number): the scheduler spreads a large group of tasks with one name over the workers, but
    puts tasks of different names beside the operand, all on one worker.
    """
    token = token_of(name)
    graph, leaves = call_graph(enumerate(calls), f"{token}-map", within)
    level, depth = leaves, 0
    while len(level) > FAN_IN:
        depth += 1
        parents = []
        for number, start in enumerate(range(0, len(level), FAN_IN)):
            key = (f"{token}-fold-{depth}", number)
            children = [TaskRef(child) for child in level[start : start + FAN_IN]]
            graph[key] = Task(key, *within, fold, combine, *children)
            parents.append(key)
        level = parents
    return graph, leaves, level


def token_of(name: str) -> str:
    """Return a new prefix of a pass's keys; the keys of tasks that read data continue with ``-map``."""
    return f"distkern-{name.replace(' ', '-')}-{uuid.uuid4().hex[:12]}"


def block_argument(source: AbstractSource, block: int, graph: dict[Any, Any]) -> Any:
    """Return the argument of a task for a block: its reader, or a reference into the source's graph."""
    if not source.is_graph:
        return source.reader(block)
    tasks, key = source.graph(block)
    graph.update(tasks)
    return TaskRef(key)


def followed(
    tasks: dict[Any, Any], key: Any, function: Callable[[Block], Block], name: str
) -> tuple[dict[Any, Any], Any]:
    """Return the graph and key of ``function`` applied to the block of another graph."""
    after = (f"distkern-after-{name}", key)
    return tasks | {after: Task(after, function, TaskRef(key))}, after


class GraphReader:
    """Computes a block of a lazy graph in the calling thread."""

    def __init__(self, graph: dict[Any, Any], key: Any) -> None:
        self._graph, self._key = graph, key

    def __call__(self) -> Block:
        block: Block = get_sync(self._graph, self._key)
        return block

    def __reduce__(self) -> tuple[Any, ...]:
        # graphs hold anonymous functions
        return _unpickled, (cloudpickle.dumps((self._graph, self._key)),)


def _unpickled(content: bytes) -> GraphReader:
    return GraphReader(*cloudpickle.loads(content))


def call_graph(
    calls: Iterable[tuple[int, Call]], token: str, within: tuple[Any, ...] = ()
) -> tuple[dict[Any, Any], list[Any]]:
    """Return the graph of numbered calls and the keys of their results, in order.

    ``within`` is a function with its first arguments that calls the function of each task. A shared argument
    is a node of the graph, since scattered data can be lost with its worker.
    """
    graph: dict[Any, Any] = {}
    keys = []
    for number, call in calls:
        arguments = []
        for argument in call.arguments:
            if isinstance(argument, Shared):
                graph.setdefault(argument.key, DataNode(argument.key, argument.value))
                arguments.append(TaskRef(argument.key))
            else:
                arguments.append(argument)
        key = (token, number)
        blocks = [block_argument(call.source, block, graph) for block in call.blocks]
        graph[key] = Task(key, *within, call.function, *arguments, *blocks)
        keys.append(key)
    return graph, keys
