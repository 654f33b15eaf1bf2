"""What a run looks like where there is no terminal, and that a terminal gets bars."""

import io
import re
import time
from pathlib import Path

import pytest
from rich.console import Console, ConsoleDimensions

import distkern
from cluster_processes import wait_for
from distkern.cli.tables import table
from distkern.core.text import in_error
from distkern.engine.events import KINDS, Event
from distkern.show import terminal as terminal_module
from distkern.show.stages import stage_plots
from distkern.show.terminal import Terminal

ERRORS = ("train_error", "test_error")

METRICS = {
    "stage": 2,
    "passes": 4.1,
    "seconds": 75.2,
    "objective": 1234.5678,
    "train_error": 0.0512,
    "test_error": 0.0601,
    "model_size": 256,
    "feature_accesses": 1,
    "rows_read": 1,
    "bytes_read": 1,
    "peak_rss_bytes": 230 * 2**20,
}


def of_a_pass(kind, at, **fields):
    return Event(f"pass_{kind}", {"name": "gradient", "stage": 2, "rows": 1000, **fields}, at)


def a_run():
    def progress(share, at):
        done = int(1000 * share)
        return of_a_pass(
            "progress", at, tasks_done=int(10 * share), tasks=10, rows_done=done, bytes_done=4096 * done
        )

    start = {"algorithm": "csvrg", "n_rows": 1000, "n_features": 64, "stages": 3, "workers": 2}
    start |= {"dashboard": "http://127.0.0.1:8787/status", "resumed_from": 1}
    return [
        Event("run_started", start, 0.0),
        of_a_pass("started", 0.0, tasks=10, bytes=4096000, unit="rows"),
        progress(0.1, 1.0),
        progress(0.5, 12.0),
        progress(0.6, 13.0),
        of_a_pass("finished", 20.0, seconds=20.0, bytes=4096000, mode="workers", split_seconds={}),
        Event("worker_lost", {"address": "tcp://10.0.0.2:40000"}, 21.0),
        Event("message", {"text": "hello [bold]there[/bold]"}, 21.0),
        Event("stage_finished", {"metrics": METRICS}, 22.0),
        Event("checkpoint_saved", {"stage": 2, "path": "m/checkpoints", "seconds": 0.1}, 22.0),
        Event("run_finished", {"result": "finished", "seconds": 22.0}, 22.0),
    ]


def lines_of(*events, **how):
    """The lines that a terminal writes about events to a file."""
    stream = io.StringIO()
    with Terminal(stream, **how) as terminal:
        for event in events:
            terminal(event)
    return stream.getvalue().splitlines()


def test_plain_lines_without_a_terminal():
    assert lines_of(*a_run()) == [
        "csvrg: 1,000 rows x 64 features on 2 workers",
        "resumed after stage 1",
        "dashboard: http://127.0.0.1:8787/status",
        "stage 2 of 3: gradient: 50 %, 42 rows/s, 166.7 KiB/s, 12.0 s left",
        "worker tcp://10.0.0.2:40000 was lost; its tasks run again elsewhere",
        "hello [bold]there[/bold]",
        "stage   passes         time    objective  train error  test error       memory",
        "    2      4.1   1 min 15 s      1234.57       5.12 %      6.01 %    230.0 MiB",
        "finished after 22.0 s: finished",
    ]


def test_a_terminal_gets_bars_and_the_same_lines():
    stream = Screen()
    with Terminal(stream) as terminal:
        assert terminal.live
        for event in a_run():
            terminal(event)
            if event.kind == "pass_progress":
                [task] = terminal._progress.tasks
                assert (task.completed, task.total) == (event["tasks_done"], 10)
                assert "rows/s" in task.fields["rates"]
        assert terminal._progress.tasks == []
    assert "5.12 %" in stream.getvalue()
    assert stream.getvalue().rstrip().endswith("\x1b[?25h") or "\x1b[?25l" not in stream.getvalue()


class Screen(io.StringIO):
    def isatty(self):
        return True


def drawn(description, done, total, rates):
    """The last line that a terminal of 80 columns is shown."""
    stream = Screen()
    with Terminal(stream) as terminal:
        terminal._progress.console.size = ConsoleDimensions(80, 24)
        terminal.show(description, done, total, rates)
        terminal._progress.refresh()
        lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue().replace("\r", "\n")).splitlines()
    return [line.rstrip() for line in lines if line.strip()][-1]


def test_lines_break_between_words():
    stream, text = Screen(), "algorithm: newton because of the columns, and by log loss on held-out rows"
    with Terminal(stream) as terminal:
        terminal._progress.console.size = ConsoleDimensions(40, 24)
        terminal.line(text)
    assert "on held-out rows" not in stream.getvalue().replace(text, "")
    assert (
        "algorithm: newton because of the\n  columns, and by log loss on held-out\n  rows\n"
        in stream.getvalue()
    )


def test_a_bar_is_one_line_of_80_columns():
    rates = "351.6k rows/s, 34.9 MiB/s"
    for length in (5, 20, 35, 60, 100):
        line = drawn("d" * length, 1, 4, rates)
        assert len(line) <= 80
        assert " 25% " in line
        assert line.startswith("d" * min(length, 45))
        # as many of the rates as there is room for
        assert ("rows/s" in line, "MiB/s" in line) == (length <= 35, length <= 20)
    assert "25%" not in drawn("reading", 100, None, rates)


def test_what_users_name_is_no_markup():
    assert drawn("[/]no [red]:smile:", 1, 4, "[/]").startswith("[/]no [red]:smile: ")
    stream = Screen()
    with Terminal(stream) as terminal:
        terminal.line("[/]no [red]:smile:")
    assert "[/]no [red]:smile:" in stream.getvalue()
    printed = io.StringIO()
    Console(file=printed, width=80).print(table(("[/]no", ":smile:"), [("[red]a", "[/b]\x1b[2J")]))
    assert all(name in printed.getvalue() for name in ("[/]no", ":smile:", "[red]a", r"[/b]\x1b[2J"))
    for file in Path(distkern.__file__).parent.rglob("*.py"):
        for call in re.findall(r"(?<!class )\b(?:Console|TextColumn)\(([^)].+)\)", file.read_text()):
            assert "markup=False" in call, file


def test_no_test_split_no_test_error():
    [_, line] = lines_of(Event("stage_finished", {"metrics": METRICS | {"test_error": None}}))
    assert line.split() == ["2", "4.1", "1", "min", "15", "s", "1234.57", "5.12", "%", "-", "230.0", "MiB"]


def test_errors_of_no_model_are_not_shown():
    def shown(**figures):
        lines = lines_of(Event("stage_finished", {"metrics": METRICS | figures}))
        told = re.findall(r"[\d.]+ %", lines[-1])
        # the history that `inspect` shows, the table of the report and its curves
        assert [in_error(METRICS | figures, name) for name in ERRORS] == (told or ["-", "-"])
        drawn = [plot.title for plot in stage_plots([METRICS | figures]).plots]
        assert ("Error in percent" in drawn) is bool(told)
        return told

    assert shown(stage=0) == shown(stage=1, model_size=0) == []
    assert shown() == shown(stage=0, ended="converged") == ["5.12 %", "6.01 %"]
    # a constant is learned as well
    assert shown(model_size=0, ended="converged") == ["5.12 %", "6.01 %"]


def test_handlers_are_for_kinds_that_exist():
    own = {name for name in vars(Terminal) if name.startswith("_") and not name.startswith("__")}
    assert {name[1:] for name in own} - {"describe", "beat"} == KINDS.keys() - {"checkpoint_saved"}


def test_the_rows_fit_80_columns_and_time_left_is_that_of_the_run():
    stream = io.StringIO()
    terminal = Terminal(stream)
    for event in a_run():
        terminal(event)
    terminal(a_run()[0])
    for number, at in ((0, 22.0), (1, 32.0)):
        terminal(
            Event("stage_finished", {"metrics": METRICS | {"stage": number, "objective": -1.23456e-12}}, at)
        )
    # stage 1 of 3 took 10 s
    assert terminal._describe(Event("pass_started", {"name": "gradient", "stage": 2}, 37.0)) == (
        "stage 2 of 3, about 15.0 s of training left: gradient"
    )
    late = terminal._describe(Event("pass_started", {"name": "gradient", "stage": 2}, 99.0))
    assert late == "stage 2 of 3: gradient"
    assert max(len(line) for line in stream.getvalue().splitlines() if "worker" not in line) <= 80


def test_rounds_are_counted_as_rounds():
    counts = {"name": "rounds", "tasks": 2000}
    lines = lines_of(
        of_a_pass("started", 0.0, **counts, bytes=0, unit="rounds"),
        of_a_pass("progress", 20.0, **counts, tasks_done=1000, rows_done=500, bytes_done=0),
    )
    assert lines == ["stage 2: rounds: 50 %, 50 rounds/s, 20.0 s left"]


def test_tasks_without_rows_are_counted_and_those_that_were_done_before_do_not_hasten_the_rest():
    counts = {"name": "solve", "stage": 1, "tasks": 40, "rows": 0}
    steps = ((10, 0.1), (10, 11.0), (20, 30.0), (21, 31.0), (40, 60.0))
    assert lines_of(
        of_a_pass("started", 0.0, **counts, bytes=0, unit="tasks"),
        *(
            of_a_pass("progress", at, **counts, tasks_done=done, rows_done=0, bytes_done=0)
            for done, at in steps
        ),
    ) == [
        "stage 1: solve: 25 %, 10 of 40 tasks, 11.0 s so far",
        "stage 1: solve: 50 %, 20 of 40 tasks, 1 min 0 s left",
        "stage 1: solve: 100 %, 40 of 40 tasks, 0.0 s left",
    ]


def test_something_is_said_where_nothing_else_is(monkeypatch):
    monkeypatch.setattr(terminal_module, "_INTERVALS", ((0.05, 0.1), (0.0, 0.02)))
    monkeypatch.setattr(terminal_module, "_CHECK", 0.005)
    stream = io.StringIO()
    with Terminal(stream) as terminal:
        wait_for(lambda: "starting, 0.0 s so far\n" in stream.getvalue())
        start = {"name": "solve", "stage": 1, "tasks": 40, "rows": 0, "bytes": 0, "unit": "tasks"}
        terminal(Event("pass_started", start))
        wait_for(lambda: stream.getvalue().count("stage 1: solve, 0.") >= 2)
    written = stream.getvalue()
    time.sleep(0.2)
    assert stream.getvalue() == written
    # on a terminal bars say it
    screen = Screen()
    with Terminal(screen):
        time.sleep(0.1)
    assert "so far" not in screen.getvalue()


@pytest.mark.parametrize(("elapsed", "interval"), [(0.0, 2.0), (59.0, 2.0), (61.0, 10.0), (601.0, 60.0)])
def test_lines_become_rarer_as_work_takes_longer(elapsed, interval):
    assert terminal_module._interval(elapsed) == interval


def test_the_last_line_counts_the_whole_command():
    stream = io.StringIO()
    with Terminal(stream, since=time.time() - 90.0) as terminal:
        for event in a_run():
            terminal(event)
        assert "finished after" not in stream.getvalue()
        terminal.line("test rows are evaluated")
    last = stream.getvalue().splitlines()[-1]
    # 75.2 s of stages, of which the events of this try show 22
    assert last == "finished after 2 min 23 s in all: finished"


def test_the_last_line_says_what_the_report_says():
    stream = io.StringIO()
    with Terminal(stream, since=time.time() - 90.0) as terminal:
        terminal(Event("run_started", {**a_run()[0].fields, "resumed_from": None}))
        terminal(a_run()[-1])
        terminal(Event("command_finished", {"seconds": 88.0}))
    assert stream.getvalue().splitlines()[-1] == "finished after 1 min 28 s: finished"


def test_a_command_that_fails_has_not_finished():
    stream = io.StringIO()
    terminal = Terminal(stream, since=time.time())
    terminal(a_run()[-1])
    error = OSError("no space")
    terminal.__exit__(OSError, error, None)
    assert "finished" not in stream.getvalue()
