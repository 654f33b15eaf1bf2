"""What a shell is offered when it asks, in a process of its own as a shell starts it."""

import os
import subprocess
import sys

import pytest


def offered(words, kind="bash_complete"):
    """The completions of the last word."""
    asked = {"_DISTKERN_COMPLETE": kind, "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    run = subprocess.run(
        [sys.executable, "-m", "distkern"],
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return [line.partition(",")[::2] for line in run.stdout.splitlines()]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("distkern tr", [("plain", "train")]),
        ("distkern train --sch", [("plain", "--scheduler")]),
        ("distkern train --data co", [("file", "co")]),
        ("distkern predict m fi", [("file", "fi")]),
        ("distkern train --algorithm csv", [("plain", "csvrg")]),
        ("distkern train --algorithm csvrg --set n_land", [("plain", "n_landmarks=")]),
        ("distkern train --algorithm csvrg --set loss=squ", [("plain", "loss=squared_hinge")]),
    ],
)
def test_commands_options_paths_and_settings_are_completed(words, found):
    assert offered(words) == found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_a_script(shell):
    run = subprocess.run(
        [sys.executable, "-m", "distkern"],
        env={**os.environ, "_DISTKERN_COMPLETE": f"{shell}_source"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    if shell == "bash" and "Bash" in run.stderr:
        pytest.skip(run.stderr.strip())
    assert run.returncode == 0
    assert f"_DISTKERN_COMPLETE={shell}_complete" in run.stdout
