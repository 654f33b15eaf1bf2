"""What README and guide show: their blocks of code, and a reader who does as they say in a folder."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

import click
import numpy as np
import pandas

from distkern.cli.main import group, main
from mixed_tables import adult

#: lines that set things up, which no test does; every other line is a command of distkern
SET_UP = ("pip install .", "pip install '.[test]'", "pytest", "distkern demo")
GUIDE = "workflows/guide"


@dataclass(frozen=True)
class Block:
    """A block of code: its language as the page names it, and its text."""

    language: str
    text: str


def pages(repository: Path) -> list[Path]:
    """README, and the pages of the guide."""
    return [repository / "README.md", *sorted((repository / GUIDE).glob("*.md"))]


def blocks(page: Path, language: str | None = None) -> list[Block]:
    """The blocks of a page in their order, all or those of one language."""
    text = page.read_text(encoding="utf-8")
    found = [Block(*pair) for pair in re.findall(r"^```(\w+)\n(.*?)^```", text, flags=re.M | re.S)]
    return [block for block in found if language in (None, block.language)]


def commands(block: Block) -> list[list[str]]:
    """The arguments of ``distkern`` in a block of shell, in which nothing else stands than :data:`SET_UP`."""
    parts = [part.strip() for line in block.text.splitlines() for part in line.split("&&")]
    found = [shlex.split(part) for part in parts if part not in SET_UP]
    assert all(words[0] == "distkern" for words in found), block.text
    return [words[1:] for words in found]


def parsed(arguments: list[str]) -> click.Command:
    """The command that takes these arguments; click refuses them otherwise."""
    name, *rest = arguments
    command = group.get_command(group.make_context("distkern", [name]), name)
    assert command is not None, arguments
    command.make_context(name, list(rest))
    return command


@dataclass
class Reader:
    """Runs the blocks of one page, one after the other, in the current folder.

    Python has its names from block to block, TOML is written to the file that its first line names, and
    commands run in this process.
    """

    page: Path
    names: dict[str, object] = field(default_factory=dict)

    def read(self, *languages: str) -> None:
        """Do what the blocks of these languages say."""
        for block in blocks(self.page):
            if block.language in languages:
                getattr(self, block.language)(block)

    def python(self, block: Block) -> None:
        exec(compile(block.text, self.page.name, "exec"), self.names)

    def toml(self, block: Block) -> None:
        file = re.match(r"# (\S+\.toml)\n", block.text)
        assert file, "the first line of a job is a comment that names its file"
        Path(file[1]).write_text(block.text, encoding="utf-8")

    def sh(self, block: Block) -> None:
        for arguments in commands(block):
            takes = [option for parameter in parsed(arguments).params for option in parameter.opts]
            here = ["--scheduler", "synchronous"] if "--scheduler" in takes else []
            assert main([*arguments, *here]) == 0, arguments


def write_examples(folder: Path) -> None:
    """The small files that the pages speak of."""
    random = np.random.default_rng(0)
    features = random.normal(size=(240, 4)).round(3)
    cover = 1 + (features[:, 0] * features[:, 1] > 0)
    header = "elevation,aspect,slope,shade"
    forest, new = np.column_stack([features, cover]), np.column_stack([features[:9], np.arange(9)])
    np.savetxt(folder / "covtype.csv.gz", forest, "%g", ",", header=f"{header},cover_type", comments="")
    np.savetxt(folder / "new.csv.gz", new, "%g", ",", header=f"{header},parcel", comments="")
    customers = adult(240).assign(household=np.arange(240) // 2, importance=1.5, customer=np.arange(240))
    customers.to_csv(folder / "customers.csv", index=False)
    rents = [f"€{300 + 7 * size}" if size % 9 else "on request" for size in range(30, 90)]
    offers = pandas.DataFrame({"size": range(30, 90), "garden": ["yes", "no"] * 30, "rent": rents})
    offers.to_csv(folder / "offers.csv", index=False)
    customers.drop(columns="income").to_csv(folder / "new-customers.csv", index=False)
