"""Exit statuses: 0 done, 2 wrong input, 130 interrupted, 1 anything else; one line on standard error."""

import errno
import io
import os
import subprocess
import sys
import time

import click
import pytest

from cluster_processes import wait_for
from distkern.cli import main as entry
from distkern.core.errors import DivergenceError, FencedError, InputError
from distkern.show import terminal


def failing(monkeypatch, error):
    @click.command()
    def fail():
        raise error

    monkeypatch.setattr(entry._Commands, "get_command", lambda self, ctx, name: fail)


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (
            InputError("is empty", where="a.csv", hint="fill it"),
            2,
            "distkern: error: a.csv is empty; fill it",
        ),
        (InputError("two\nlines"), 2, "distkern: error: two lines"),
        (FencedError("another driver has taken over"), 2, "distkern: error: another driver has taken over"),
        (
            InputError("is no number", where="a.csv, column 'b" + 70_000 * "x" + "end'", hint="hint it"),
            2,
            "distkern: error: a.csv, column 'b" + 300 * "x",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device", "d.zarr"),
            2,
            "distkern: error: d.zarr: No space left",
        ),
        (
            PermissionError(errno.EACCES, "Permission denied", "d.zarr"),
            2,
            "distkern: error: d.zarr: Permission",
        ),
        (OSError(errno.EIO, "Input/output error", "d.zarr"), 1, "distkern: error: OSError: "),
        (DivergenceError("step size"), 1, "distkern: error: step size\n"),
        (ZeroDivisionError("oh"), 1, "distkern: error: ZeroDivisionError: oh; set DISTKERN_DEBUG=1"),
        (KeyboardInterrupt("stage 3 saved"), 130, "distkern: stage 3 saved"),
        (KeyboardInterrupt(), 130, "distkern: interrupted"),
        (click.BadParameter("bad"), 2, "distkern: error: Invalid value: bad"),
    ],
)
def test_every_failure_is_one_line(monkeypatch, capsys, error, status, line):
    failing(monkeypatch, error)
    monkeypatch.delenv("DISTKERN_DEBUG", raising=False)
    assert entry.main(["fail"]) == status
    captured = capsys.readouterr()
    assert captured.err.startswith(line)
    assert captured.err.count("\n") == 1
    assert len(captured.err) < 1000
    assert captured.out == ""


def test_debug_shows_the_traceback(monkeypatch, capsys):
    failing(monkeypatch, ZeroDivisionError("oh"))
    monkeypatch.setenv("DISTKERN_DEBUG", "1")
    assert entry.main(["fail"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_a_deleted_working_folder_is_named(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deleted").mkdir()
    os.chdir("deleted")
    os.rmdir(tmp_path / "deleted")
    assert entry.main(["evaluate", "m", "--data", "d.zarr"]) == 2
    assert capsys.readouterr().err.startswith("distkern: error: the current folder has been deleted; change")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["trian"], "distkern: error: no command 'trian'; did you mean 'train'?\n"),
        (["xyz"], "distkern: error: no command 'xyz'; use one of shard, plan"),
        (["evaluate", "m", "--dat", "d"], "distkern: error: --dat: no such option; did you mean --data?"),
        (["evaluate", "m"], "distkern: error: Missing option '--data'"),
        (
            ["train", "--seed", "x", "--data", "d"],
            "distkern: error: --seed must be an integer in [0, 4294967295], got 'x'",
        ),
        (
            ["plan", "--data", "d", "--memory-limit", "much"],
            "distkern: error: --memory-limit must be a size such as '512MiB' or '2GB', got 'much'",
        ),
        (["inspect", "nothing-here"], "distkern: error: nothing-here: no such file or folder"),
        (["predict", "m", "--data", "d", "--out", "p.txt"], "distkern: error: --out: 'p.txt'"),
        (["demo", "--rows", "2000", "--data", "a.csv"], "distkern: error: --rows does not go with --data"),
    ],
)
def test_wrong_usage(capsys, arguments, line):
    assert entry.main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(line)
    assert captured.err.count("\n") == 1


def test_every_command_has_help_with_an_example(capsys):
    for name in entry._COMMANDS:
        assert entry.main([name, "--help"]) == 0
        shown = capsys.readouterr().out
        assert f"distkern {name} " in shown.partition("Example")[2]
        assert [line for line in shown.splitlines() if len(line) > 80] == []


def test_help_is_short(capsys):
    assert entry.main(["-h"]) == 0
    listing = capsys.readouterr().out
    assert max(map(len, listing.splitlines())) <= 80
    assert "..." not in listing.replace("[ARGS]...", "")
    assert entry.main(["train", "-h"]) == 0
    short = capsys.readouterr().out
    assert entry.main(["train", "--help"]) == 0
    assert capsys.readouterr().out == short


def test_a_terminal_breaks_lines_between_words(monkeypatch, capsys):
    what = "the file lacks a column that the model knows, and there is nothing in its place that would do"
    failing(monkeypatch, InputError(what))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert entry.main(["fail"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert max(map(len, lines)) <= 80
    assert " ".join(line.strip() for line in lines) == f"distkern: error: {what}"


def test_help_lists_every_command(capsys):
    assert entry.main(["--help"]) == 0
    listing = capsys.readouterr().out
    assert all(name in listing for name in entry._COMMANDS)


@pytest.mark.slow
def test_what_is_deferred_is_loaded_by_use():
    code = (
        "import sys\n"
        "from distkern.cli.main import defer_imports\n"
        "defer_imports()\n"
        "import pandas as pd, scipy.stats, sklearn.base\n"
        "assert not {'pandas.core', 'scipy.stats.distributions'} & set(sys.modules)\n"
        "assert pd.DataFrame({'a': [1]}).shape == (1, 1)\n"
        "from scipy.stats.qmc import Sobol\n"
        "assert scipy.stats.norm.cdf(0) == 0.5\n"
        "import pandas, numpy\n"
        "assert pandas.DataFrame is pd.DataFrame and type(pandas) is type(numpy)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr


def test_no_arguments_print_the_help(capsys):
    assert entry.main([]) == 2
    assert "Usage: distkern" in capsys.readouterr().err


def test_termination_counts_as_an_interruption(tmp_path):
    code = (
        "import sys, time, click\n"
        "from distkern.cli import main as entry\n"
        "@click.command()\n"
        "def wait():\n"
        "    print('waiting', flush=True)\n"
        "    time.sleep(60)\n"
        "entry._Commands.get_command = lambda self, ctx, name: wait\n"
        "sys.exit(entry.main(['wait']))\n"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert run.stdout.readline() == "waiting\n"
    started = time.monotonic()
    run.terminate()
    _, errors = run.communicate(timeout=30)
    assert (run.returncode, errors) == (130, "distkern: interrupted\n")
    assert time.monotonic() - started < 30


@pytest.mark.parametrize("writes", [False, True])
def test_a_silent_command_says_that_it_runs_until_it_writes(monkeypatch, writes):
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.setattr(sys, "stderr", said := io.StringIO())
    monkeypatch.setattr(terminal, "SHOWN", False)
    monkeypatch.setattr(entry, "SILENCE", 0.01)
    beating = entry._say_soon("predict", time.time() - entry.FIRST_SILENCE + 0.2 * writes)
    if not writes:
        wait_for(lambda: said.getvalue().count("\n") > 1)
    click.echo("done")
    beating.join()
    lines = said.getvalue().splitlines()
    assert lines[:1] == ([] if writes else ["distkern predict: starting"])
    assert all(line.startswith("distkern predict: starting, ") for line in lines[1:])
    assert sys.stdout.getvalue() == "done\n"


def test_a_closed_pipe_is_silent():
    reading, writing = os.pipe()
    os.close(reading)
    run = subprocess.run(
        [sys.executable, "-m", "distkern", "--help"], stdout=writing, stderr=subprocess.PIPE, timeout=60
    )
    os.close(writing)
    assert run.returncode == 1
    assert run.stderr == b""


def test_a_reader_that_leaves_is_no_error_to_speak_of():
    # of rich, which ends the program so when its output has no reader any more
    assert entry.explain(SystemExit(1)) == (1, "")
    assert entry.explain(BrokenPipeError()) == (1, "")
