"""The cluster as the page shows it, as values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WorkerView:
    """A worker now: memory in bytes (limit 0: none), ``cpu`` in percent of one core."""

    address: str
    name: str
    threads: int
    processing: int
    memory: int
    memory_limit: int
    cpu: float


@dataclass(frozen=True)
class ClusterView:
    """The scheduler's address and its workers."""

    address: str
    workers: tuple[WorkerView, ...]
