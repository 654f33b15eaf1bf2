"""A pass over the data is a value: a function of blocks, a way to combine results, and a cost in memory.

A solver yields passes and is sent their results; it never sees files, tasks or workers. Each kind has its own
file with the value, its plan, and how it runs on an executor.

``Reduce`` maps every block on the workers and combines the results in a fixed order.
``Stream`` visits blocks and their rows in a given order, and yields prepared pieces of rows in this order.
``Rounds`` keep state with groups of rows: each round broadcasts a message and returns a combined answer.
``batches`` are Rounds without state over drawn rows.
``Each`` runs one task per item and stores its result where it was computed.
"""

from __future__ import annotations

from distkern.passes.base import Derived, Extent, Message, Outline, Pass, PassPlan, Site
from distkern.passes.batches import AbstractFollower, batches
from distkern.passes.each import Each
from distkern.passes.machine import EXPONENTIAL, Cost, Machine, bytes_of
from distkern.passes.reduce import Reduce
from distkern.passes.rounds import AbstractResident, Rounds
from distkern.passes.stream import Stream, Visit, epoch_visits, pieces, whole_visits

__all__ = [
    "EXPONENTIAL",
    "AbstractFollower",
    "AbstractResident",
    "Cost",
    "Derived",
    "Each",
    "Extent",
    "Machine",
    "Message",
    "Outline",
    "Pass",
    "PassPlan",
    "Reduce",
    "Rounds",
    "Site",
    "Stream",
    "Visit",
    "batches",
    "bytes_of",
    "epoch_visits",
    "pieces",
    "whole_visits",
]
