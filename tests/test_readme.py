"""What the README shows works as it is written."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from distkern.cli.job import Job, make_estimator
from distkern.cli.main import group
from distkern.demo.digits import VirtualDigits


def blocks(repository: Path, language: str) -> list[str]:
    text = (repository / "README.md").read_text(encoding="utf-8")
    found = re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert found
    return found


def test_the_python_runs(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from distkern.storage.ingest import write_dataset

    # fewer rows than `distkern demo` makes: the choice of a machine takes most of the time
    digits = VirtualDigits(chunk_rows=600)
    (tmp_path / "distkern-demo").mkdir()
    path = tmp_path / "distkern-demo" / "digits.zarr"
    write_dataset(digits.chunks(600), path, test_chunks=digits.chunks(300, "test"), scale="none")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for code in blocks(repository, "python"):
        exec(compile(code, "README.md", "exec"), names)
    scores = capsys.readouterr().out.split("\n")
    assert float(scores[0].split()[0]) > 0.9
    assert "newton of 64 dense columns, and by log loss on held-out rows" in scores[0]
    assert float(scores[1]) > 0.95
    assert scores[2] == "(2, 3)"
    assert (tmp_path / "digits-model" / "model.json").exists()


def test_every_command_is_one_that_the_command_line_accepts(repository: Path) -> None:
    lines = [
        part.strip()
        for block in blocks(repository, "sh")
        for line in block.splitlines()
        for part in line.split("&&")
        if part.strip().startswith("distkern ")
    ]
    assert len(lines) >= 8
    for line in lines:
        _, name, *arguments = shlex.split(line)
        command = group.get_command(group.make_context("distkern", [name]), name)
        assert command is not None, line
        command.make_context(name, arguments)


def test_the_job_file_is_one_that_train_accepts(repository: Path) -> None:
    trained, searched = map(tomllib.loads, blocks(repository, "toml"))
    assert make_estimator(Job(**trained)).gamma == trained["params"]["gamma"]
    search = Job(**searched).search
    assert search is not None
    assert search.params["gamma"] == searched["search"]["params"]["gamma"]


def test_the_set_up_commands_are_there(repository: Path) -> None:
    shown = "".join(blocks(repository, "sh"))
    assert "pip install . && distkern demo\n" in shown
    assert "pip install '.[test]' && pytest\n" in shown


def test_the_links_lead_somewhere(repository: Path) -> None:
    text = (repository / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (repository / target).exists(), target
