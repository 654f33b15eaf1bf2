"""Predicted seconds: they add up, scale with the work, and learn from past runs."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path

import pytest

from distkern.engine import rates
from distkern.engine.budget import Machine
from distkern.engine.experience import Experience
from distkern.engine.plan import Extent
from distkern.engine.plan_run import plan_pass
from distkern.engine.rates import Rates, seconds_of
from distkern.passes import Cost, Reduce, Rounds, Stream, Visit

RATES = Rates(flops=1e10, entries=1e9, read_bytes=1e9, wire_bytes=1e9)
EXTENT = Extent(block_rows=(10_000,) * 64, row_bytes=400)
COST = Cost(flops_per_row=1e6, entries_per_row=1e4, result_bytes=4000, driver_seconds_per_row=1e-6)


def seconds(step, machine, extent=EXTENT, rates=RATES):
    return seconds_of(step, plan_pass(step, extent, machine), machine, rates)


def test_a_rate_is_of_what_a_thread_does_while_it_runs():
    """On a busy machine it is half of the time, and rates are measured once."""
    assert rates._fastest(lambda: time.sleep(0.02)) < 0.01


def test_a_reduction_takes_its_work_over_the_workers():
    step = Reduce("sum", len, max, cost=COST)
    one, four = (seconds(step, Machine("threads", workers)) for workers in (1, 4))
    work = 1.3 * 640_000 * (1e6 / 1e10 + 1e4 / 1e9) + 640_000 * 400 / 1e9
    assert one == pytest.approx(work, rel=0.01)
    assert four == pytest.approx(work / 4, rel=0.01)
    faster = replace(RATES, flops=2e10, entries=2e9, read_bytes=2e9)
    assert seconds(step, Machine("threads", 1), rates=faster) == pytest.approx(one / 2, rel=0.01)


def test_a_stream_takes_the_longer_of_preparing_and_the_loop():
    visits = tuple(Visit(block, 10_000, 0, (0, block)) for block in range(64))
    step = Stream("loop", visits, len, cost=COST)
    alone = seconds(step, Machine("synchronous", 1))
    shared = seconds(step, Machine("distributed", 8, driver_threads=2))
    work = 1.3 * 640_000 * (1e6 / 1e10 + 1e4 / 1e9)
    assert alone == pytest.approx(work + 640_000 * 1e-6 + 640_000 * 400 / 1e9, rel=0.01)
    assert work / 8 <= shared < alone / 2


def test_rounds_take_their_number():
    step = Rounds("rounds", dict, max, n_rounds=1000, seconds_per_row=1e-8)
    assert seconds(step, Machine("synchronous", 1)) == pytest.approx(1000 * 640_000 * 1e-8)
    slow = replace(step, seconds_per_row=1e-6)
    assert seconds(slow, Machine("distributed", 2)) == pytest.approx(1000 * (3e-3 + 0.32), rel=0.05)


def test_rates_are_measured_once_and_runs_correct_what_they_say(tmp_path, monkeypatch):
    monkeypatch.setenv("DISTKERN_CACHE", str(tmp_path))
    first = Experience.of_this_machine()
    assert all(math.isfinite(rate) and rate > 1e6 for rate in vars(first.rates).values())
    monkeypatch.setattr(Rates, "measure", lambda: pytest.fail("measured twice"))
    kind = ("csvrg", "threads")
    assert first.seen(*kind) == []
    assert first.factor(*kind, "snapshot") == 1.0
    for ratio in (1.5, 2.0, 8.0):
        said = {"snapshot": 10.0, "landmarks": 0.1, "evaluate": 5.0}
        taken = {"snapshot": 10.0 * ratio, "landmarks": 0.5, "evaluate": 0.0}
        Experience.of_this_machine().add(kind, said, taken)
    again = Experience.of_this_machine()
    # what was not measured says nothing
    assert again.seen(*kind) == pytest.approx([15.5 / 10.1, 20.5 / 10.1, 80.5 / 10.1])
    assert again.factor(*kind, "evaluate") == 1.0
    # 30 seconds were predicted; of 0.3 little is believed
    assert again.factor(*kind, "snapshot") == pytest.approx(2.0 ** (30 / 31))
    assert again.factor(*kind, "landmarks") == pytest.approx(5.0 ** (0.3 / 1.3))
    assert again.factor("svrg", "threads", "snapshot") == 1.0


def test_a_damaged_or_unwritable_cache_changes_no_run(tmp_path, monkeypatch):
    monkeypatch.setenv("DISTKERN_CACHE", str(tmp_path / "file"))
    Path(tmp_path / "file").write_text("in the way")
    experience = Experience.of_this_machine()
    experience.add(("csvrg", "threads"), {"snapshot": 1.0}, {"snapshot": 2.0})
    monkeypatch.setenv("DISTKERN_CACHE", str(tmp_path))
    kept = Experience.of_this_machine().file
    kept.write_text("{")
    assert Experience.of_this_machine().rates.flops > 1e6
