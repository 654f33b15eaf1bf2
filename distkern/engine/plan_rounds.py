"""The planner of Rounds: which process holds the state."""

from __future__ import annotations

from distkern.common.types import groups_of
from distkern.engine.budget import AT_ONCE, EXCHANGE, RESIDENT_BYTES, THREAD, Machine, loaded_bytes
from distkern.engine.plan import Extent, RoundsPlan
from distkern.passes import Rounds


def plan_rounds(step: Rounds, extent: Extent, machine: Machine) -> RoundsPlan:
    """Keep the state in the driver's process where it fits and is not slower, else on the workers.

    Operations of a round, with n rows and a operations a row: n a in the driver, n a / workers and those of
    the exchange of a message on the workers. It fits if it takes no more than a quarter of the memory
    limit, or 1 GiB without one. Executors without a cluster keep it in their own process whatever it takes,
    "processes" as well; "threads" shares it out to threads when the part of each is worth waking it up for.

    >>> from distkern.passes import Cost
    >>> extent = Extent(block_rows=(1000,) * 16, row_bytes=400)
    >>> step = Rounds("rounds", dict, max, cost=Cost(operations=100))
    >>> plan_rounds(step, extent, Machine("distributed", 2)).mode
    'rounds in the driver'
    >>> slow = Rounds("rounds", dict, max, cost=Cost(operations=50_000))
    >>> plan = plan_rounds(slow, extent, Machine("distributed", 2))
    >>> plan.mode, plan.parties
    ('rounds on 2 workers', ((0, 1, 2, 3), (4, 5, 6, 7)))
    """
    groups = groups_of(extent.block_rows)
    rows = [sum(extent.block_rows[block] for block in group) for group in groups]
    n_rows = sum(rows)
    operations = n_rows * step.cost.operations
    state_bytes = int(n_rows * step.state_bytes_per_row)
    on_workers = machine.kind == "distributed" and not extent.in_memory
    if on_workers and extent.readable_by_driver and machine.same_host:
        limit = RESIDENT_BYTES if machine.memory_limit is None else machine.memory_limit // 4
        shared = operations / min(machine.processes, len(groups)) + EXCHANGE
        on_workers = state_bytes > limit or shared < operations
    if on_workers:
        n_parties = machine.processes
    else:
        threaded = machine.kind == "threads" and operations / machine.n_workers > THREAD
        n_parties = machine.n_workers if threaded else 1
    parties = _contiguous(rows, n_parties)
    largest = max(sum(rows[group] for group in party) for party in parties)
    # a second copy of a group's arrays, while they are saved or restored, and a block that is read from
    copied = int(max(rows) * step.state_bytes_per_row) + extent.largest_block_bytes
    raw = min(step.kept_bytes, largest * extent.row_bytes)
    answers = 2 * len(parties) * step.cost.result_bytes
    driver, worker = extent.kept_bytes(machine) + copied + answers, 0
    if on_workers:
        held = int(largest * step.state_bytes_per_row) + step.cost.workspace_bytes + raw
        worker = loaded_bytes(step.cost) + held + copied + 2 * step.cost.result_bytes
        mode = f"rounds on {len(parties)} worker{'s' if len(parties) > 1 else ''}"
    else:
        held = len(parties) * (step.cost.workspace_bytes + raw) + state_bytes
        driver += step.cost.process_bytes + held
        mode = "rounds in the driver"
        if len(parties) > 1:
            mode = f"rounds in {len(parties)} threads of the driver"
    return RoundsPlan.of(
        step,
        extent,
        machine,
        len(parties),
        n_rows,
        worker=worker,
        driver=driver,
        works_here=not on_workers,
        mode=mode,
        parties=parties,
        on_workers=on_workers,
        held_bytes=held,
        at_once=largest * step.cost.operations < AT_ONCE,
    )


def _contiguous(rows: list[int], n_parties: int) -> tuple[tuple[int, ...], ...]:
    """Consecutive groups in ``n_parties`` runs (or one for each group) of about equal rows."""
    n_parties = min(n_parties, len(rows))
    total, done = sum(rows), 0
    parties: list[list[int]] = [[]]
    for group, count in enumerate(rows):
        parties[-1].append(group)
        done += count
        left = len(rows) - group - 1
        wanted = n_parties - len(parties)
        # a run ends where its share of the rows does, or where the others need every group that is left
        if wanted and (done * n_parties >= total * len(parties) or left == wanted):
            parties.append([])
    return tuple(tuple(party) for party in parties)
