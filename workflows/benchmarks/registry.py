"""Return all methods by name, including adapters."""

from __future__ import annotations

from collections.abc import Mapping

from workflows.benchmarks.adapter import adapted
from workflows.benchmarks.methods import Method
from workflows.benchmarks.ours import OURS
from workflows.benchmarks.peers import PEERS

METHODS = {method.name: method for method in (*OURS, *PEERS)}


def method_of(name: str, adapters: Mapping[str, str]) -> Method:
    """The method of a name; ``adapters`` are paths of programs by name."""
    if name in adapters:
        return adapted(name, adapters[name])
    if name not in METHODS:
        raise SystemExit(f"unknown method {name!r}; use one of {', '.join([*METHODS, *adapters])}")
    return METHODS[name]
