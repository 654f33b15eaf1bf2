"""Write a messy table: money, percent, dates in several formats, many spellings of missing values.

    python -m workflows.tables.typed customers.csv --rows 200000 --style european

writes one as CSV. It has the rows of :mod:`workflows.defaults.messy` and more columns, with every value in
one of the usual spellings; :func:`cleaned` returns the underlying numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas
from numpy.typing import NDArray

from workflows.defaults import messy

Array = NDArray[Any]

LABEL = messy.LABEL
#: spellings of a missing value
NOTHING = ("", "", "NA", "N/A", "n/a", "-", "--", ".", "missing", "unknown", "null", "None", "?", "#N/A")
_DATES = ("%Y-%m-%d", "%d.%m.%Y", "%d %b %Y", "%B %d, %Y")
_SENTENCES = ("please call back", "asked about the bill", "moved house", "all is well", "said, wait")
_DAY = 86_400


@dataclass(frozen=True)
class Style:
    """The conventions of a country for fields, decimals, thousands, money and numeric dates."""

    name: str
    delimiter: str
    decimal: str
    thousands: str
    money: str
    date: str


AMERICAN = Style("american", ",", ".", ",", "${}", "%m/%d/%Y")
EUROPEAN = Style("european", ";", ",", ".", "{} €", "%d/%m/%Y")
STYLES = {style.name: style for style in (AMERICAN, EUROPEAN)}


@dataclass(frozen=True)
class Customers:
    """Rows as numbers, categories and moments, their labels 0 and 1, and the chances of 1."""

    frame: pandas.DataFrame
    label: Array
    chances: Array


def customers(n_rows: int, seed: int = 0) -> Customers:
    """Rows that the seed draws, about one of fifty with label 1."""
    base, random = messy.messy(n_rows, seed), np.random.default_rng([seed, 1])
    discount, called = random.integers(0, 81, n_rows) / 200.0, random.integers(0, _DAY // 60, n_rows) * 60.0
    score = np.log(base.chances / (1.0 - base.chances))
    score += 0.5 * np.cos(2.0 * np.pi * called / _DAY) - 4.0 * (discount - 0.2)
    chances = 1.0 / (1.0 + np.exp(0.25 - score))
    said = np.array(_SENTENCES, dtype=object)[random.integers(0, len(_SENTENCES), n_rows)]
    frame = base.frame.assign(
        zip=base.frame["zip"].astype(int) - 9_500,
        signup=pandas.to_datetime(base.frame["signup"]),
        account=4_000_000_000_000_000 + random.permutation(n_rows) * 7919,
        discount=discount,
        called=called,
        comment=[f"{text} ({number})" for number, text in enumerate(said)],
    )
    for name in ("signup", "amount", "discount", "called"):
        frame.loc[random.random(n_rows) < 0.03, name] = pandas.NaT if name == "signup" else np.nan
    return Customers(frame, (random.random(n_rows) < chances).astype(int), chances)


def typed(frame: pandas.DataFrame, style: Style, seed: int = 0) -> pandas.DataFrame:
    """Every value as a text, in one of the ways in which people write it."""
    random = np.random.default_rng([seed, 2])

    def some(share: float) -> Array:
        return random.random(len(frame)) < share

    dates = np.array([frame["signup"].dt.strftime(form) for form in (*_DATES, style.date)], dtype=object)
    clock = pandas.to_datetime(frame["called"], unit="s")
    money = {name: _number(frame[name], style, 2) for name in ("amount", "balance")}
    negative = frame["balance"] < 0
    in_parentheses = "(" + money["balance"].str.lstrip("-") + ")"
    texts = {
        "account": frame["account"].astype(str),
        "signup": pandas.Series(dates[random.integers(0, len(dates), len(frame)), np.arange(len(frame))]),
        "zip": frame["zip"].map("{:05d}".format),
        "age": frame["age"].map("{:.0f}".format),
        "amount": money["amount"].where(some(0.1), money["amount"].map(style.money.format)),
        "balance": in_parentheses.where(negative & some(0.8), money["balance"]).map(style.money.format),
        "income": _number(frame["income"], style, 0),
        "verified": pandas.Series(np.where(frame["verified"], "Y", "N")),
        "newsletter": pandas.Series(np.where(frame["newsletter"], "yes", "No")),
        "discount": _number(100.0 * frame["discount"], style, 1) + "%",
        "called": clock.dt.strftime("%H:%M").where(some(0.6), clock.dt.strftime("%I:%M %p")),
    }
    shown = frame.assign(**texts).astype(object)
    nothing = np.array(NOTHING, dtype=object)[random.integers(0, len(NOTHING), shown.shape)]
    return shown.mask(frame.isna().to_numpy(), pandas.DataFrame(nothing, columns=shown.columns)).astype(str)


def cleaned(frame: pandas.DataFrame, like: pandas.DataFrame) -> pandas.DataFrame:
    """Columns as their user would prepare them for boosted trees, without ids and comments.

    See :func:`workflows.defaults.messy.cleaned`.
    """
    return messy.cleaned(frame.drop(columns=["account", "comment"]), like)


def write(path: Path, n_rows: int, seed: int, style: Style) -> Customers:
    """Write a table, with its label amid the columns, and say what is in it."""
    made = customers(n_rows, seed)
    table = typed(made.frame, style, seed)
    table.insert(5, LABEL, np.where(made.label == 1, "yes", "no"))
    table.to_csv(path, index=False, sep=style.delimiter)
    return made


def _number(values: pandas.Series, style: Style, decimals: int) -> pandas.Series:
    """With marks between thousands, as the style has them."""
    marks = str.maketrans({",": style.thousands, ".": style.decimal})
    return values.map(f"{{:,.{decimals}f}}".format).map(lambda text: text.translate(marks))


@click.command(help=__doc__)
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--rows", default=200_000, show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option("--style", type=click.Choice(list(STYLES)), default="american", show_default=True)
def main(out: Path, rows: int, seed: int, style: str) -> None:
    """Write a table."""
    write(out, rows, seed, STYLES[style])


if __name__ == "__main__":
    main()
