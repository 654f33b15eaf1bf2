"""A workflow that is killed leaves no process behind."""

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from workflows import orphans
from workflows.processes import run

ROOT = Path(__file__).parents[2]
#: what hangs tells of itself through a FIFO, whose other end is closed when it is gone
HANGS = "import os, sys, time; end = os.open(sys.argv[1], os.O_WRONLY); os.write(end, b'.'); time.sleep(600)"
WORKFLOW = """
import os, sys, time
from pathlib import Path
from workflows.pool import Question, answer
from workflows.processes import run
from workflows.records import Records

HANGS = sys.argv[3]

def hang(fifo):
    end = os.open(fifo, os.O_WRONLY)
    os.write(end, b".")
    time.sleep(600)

def started(fifo, hangs):
    return run([sys.executable, "-S", "-c", hangs, fifo], threads=1, limit=None)[0]

if __name__ == "__main__":
    way, fifo = sys.argv[1:3]
    if way == "process":
        started(fifo, HANGS)
    elif way == "pool":
        answer(Records(Path(fifo).parent), [Question("a", hang, {"fifo": fifo})], 2, print)
    else:
        asked = {"fifo": fifo, "hangs": HANGS}
        answer(Records(Path(fifo).parent), [Question("a", started, asked)], 1, print, fresh=True)
"""


def read(end):
    """What comes next, b"" once nobody writes any more."""
    assert select.select([end], [], [], 120)[0], "nothing was written, and nobody has gone"
    return os.read(end, 1)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["process", "pool", "process of a pool"])
def test_what_a_killed_workflow_has_started_ends(way, tmp_path):
    script, fifo = tmp_path / "workflow.py", tmp_path / "fifo"
    script.write_text(WORKFLOW)
    os.mkfifo(fifo)
    # open before somebody writes: the open end of a FIFO is not waited for then
    end = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    parent = subprocess.Popen([sys.executable, str(script), way, str(fifo), HANGS], env=environment)
    try:
        while not select.select([end], [], [], 1)[0]:
            assert parent.poll() is None
        assert read(end) == b"."
        assert not select.select([end], [], [], 0.2)[0]
    finally:
        parent.kill()
        parent.wait()
    assert read(end) == b""
    os.close(end)


def test_what_has_ended_is_not_killed(tmp_path):
    """A group that is the next one's by then, for numbers are used again."""
    told = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(orphans, "_guard", lambda: told.append)
        run([sys.executable, "-S", "-c", "pass"], threads=1, limit=60)
    assert [line[0] for line in told] == ["+", "-"]
    assert told[0][1:] == told[1][1:]


def test_a_process_that_nobody_has_started_is_refused():
    with pytest.raises(RuntimeError, match="not a process of multiprocessing"):
        orphans.end_with_parent()
