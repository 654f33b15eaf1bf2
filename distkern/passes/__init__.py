"""A pass over the data is a value: what to do with each block, how to combine, how much memory it takes.

A solver yields passes and is sent their results; it never sees files, tasks or workers. Each kind has a file
of its own: the value, its plan, and how it runs on an executor, in this process or on others.

``Reduce`` maps every block on the workers and combines the results in a fixed order.
``Stream`` visits blocks in a given order, each with its rows in a given order, and hands prepared pieces of
rows to the solver strictly in that order.
``Rounds`` keeps an array for every group of rows with the process that holds the group: each round broadcasts
a few numbers and gets a few back.
``batches`` are Rounds that show the solver's model to drawn rows and keep nothing with them.
``Each`` runs one task for each of some items, whose result is stored where it was made and never combined.
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
