"""A table as businesses have them: dates as text, money, zip codes, many categories, missing values.

    python -m workflows.defaults.messy customers.csv --rows 60000

writes one as CSV, the rare label (about one row of fifty) last. Chances follow a logistic model with
interactions; knowing it exactly has an AUC of about .80, so that no model comes much above that.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas
from numpy.typing import NDArray

Array = NDArray[Any]

LABEL = "left"
_ZIPS, _ZIPS_OF_REGION, _REGIONS = 5000, 500, 10
_PLANS = ("basic", "family", "plus", "business", "premium")
_CHANNELS = tuple(f"channel {name}" for name in "abcdefghijkl")
_OCCUPATIONS = tuple(f"occupation {number}" for number in range(50))
_FIRST_DAY, _LAST_DAY = np.datetime64("2014-01-01"), np.datetime64("2025-01-01")
#: brings the mean of the chances to .02
_INTERCEPT = -4.458
#: of the effects, which are the same in all tables
_EFFECTS = 7


@dataclass(frozen=True)
class Messy:
    """Rows, their labels 0 and 1, and the chances of 1 that these were drawn with."""

    frame: pandas.DataFrame
    label: Array
    chances: Array


def messy(n_rows: int, seed: int = 0) -> Messy:
    """Rows that the seed draws: no two seeds share a customer."""
    random = np.random.default_rng(seed)
    signup = _LAST_DAY - np.ceil(4000 * random.random(n_rows) ** 1.5).astype("timedelta64[D]")
    zips = _often(random, _ZIPS, n_rows, 1.0)
    plan, channel = random.choice(5, n_rows, p=[0.4, 0.25, 0.2, 0.1, 0.05]), _often(random, 12, n_rows, 1.0)
    occupation, age = _often(random, 50, n_rows, 1.0), np.clip(random.normal(44, 15, n_rows), 18, 95).round()
    amount = np.exp(random.normal(4.0 + 0.3 * plan, 1.4)).round(2)
    # a few are in another currency's units, as happens
    amount[random.random(n_rows) < 0.001] *= 1000.0
    balance = (np.exp(random.normal(6.0, 1.2, n_rows)) * random.standard_t(3, n_rows)).round(2)
    income = np.exp(random.normal(10.3 + 0.1 * plan + 0.2 * np.sin(occupation), 0.5)).round(-2)
    verified, newsletter = random.random(n_rows) < 0.7, random.random(n_rows) < 0.35
    orders = random.negative_binomial(1, 0.08, n_rows)
    complaints = random.poisson(np.exp(random.normal(-1.2, 0.8, n_rows)))
    channel, occupation = _holes(random, channel, 0.08), _holes(random, occupation, 0.15)
    income[random.random(n_rows) < 0.22 + 0.16 * (plan == 0) + 0.06 * (age < 30)] = np.nan
    years = (_LAST_DAY - signup).astype(int) / 365.25
    score = _score(years, zips, plan, channel, occupation, age, amount, income, verified, newsletter)
    # a complaint matters to those who are not known, orders to those who have been there for some time
    score += 0.6 * np.minimum(complaints, 4) * ~verified - 0.3 * np.log1p(orders) * np.tanh(years)
    score -= 0.3 * np.tanh(balance / 500.0)
    chances = 1.0 / (1.0 + np.exp(-(_INTERCEPT + score)))
    frame = pandas.DataFrame(
        {
            "customer": [f"C{seed:03d}-{number:07d}" for number in random.permutation(n_rows)],
            "signup": np.datetime_as_string(signup),
            "zip": [f"{10_000 + 17 * code}" for code in zips],
            "plan": np.array(_PLANS, dtype=object)[plan],
            "channel": _texts(_CHANNELS, channel),
            "occupation": _texts(_OCCUPATIONS, occupation),
            "age": age,
            "amount": amount,
            "balance": balance,
            "income": income,
            "verified": verified,
            "newsletter": newsletter,
            "orders": orders,
            "complaints": complaints,
        }
    )
    return Messy(frame, (random.random(n_rows) < chances).astype(int), chances)


def cleaned(frame: pandas.DataFrame, like: pandas.DataFrame) -> pandas.DataFrame:
    """Columns as their user would prepare them for boosted trees: dates in days, texts as pandas' categories
    of the training rows ``like``, zip codes as numbers, since neighbours have similar ones, and no names."""
    texts = {name: sorted(like[name].dropna().unique()) for name in ("plan", "channel", "occupation")}
    days = (pandas.to_datetime(frame["signup"]) - pandas.Timestamp(_FIRST_DAY)).dt.days
    levels = {
        name: pandas.Categorical(frame[name].where(frame[name].isin(known)), categories=known)
        for name, known in texts.items()
    }
    given = frame.drop(columns=["customer", "signup"])
    return given.assign(days=days, zip=frame["zip"].astype(int), **levels)


def _score(
    years: Array,
    zips: Array,
    plan: Array,
    channel: Array,
    occupation: Array,
    age: Array,
    amount: Array,
    income: Array,
    verified: Array,
    newsletter: Array,
) -> Array:
    """Most of what the chances are of, up to a constant; a code of -1 is a category of its own."""
    effects = np.random.default_rng(_EFFECTS)
    of_region, of_zip = effects.normal(0, 0.5, _REGIONS), effects.normal(0, 0.2, _ZIPS)
    of_occupation, of_channel = effects.normal(0, 0.4, 51), effects.normal(0, 0.3, 13)
    money, wealth = np.minimum((np.log(amount + 1) - 4.3) / 1.4, 3.0), (np.log(income) - 10.4) / 0.5
    score = (
        of_region[zips // _ZIPS_OF_REGION] + of_zip[zips] + of_occupation[occupation] + of_channel[channel]
    )
    score += 1.2 * np.exp(-years) + 0.4 * np.minimum(((age - 45) / 18.0) ** 2, 3.0)
    score += np.where(plan < 2, 0.5, -0.2) * money - 0.3 * (newsletter & (years > 2)) - 0.2 * verified
    score += np.where(np.isnan(income), 0.8, -0.4 * np.nan_to_num(wealth))
    return score


def _often(random: np.random.Generator, n_kinds: int, n_rows: int, skewness: float) -> Array:
    """Draw codes with very different frequencies, the same in all tables."""
    weights = np.exp(np.random.default_rng(_EFFECTS).normal(0, skewness, n_kinds))
    return random.choice(n_kinds, n_rows, p=weights / weights.sum())


def _holes(random: np.random.Generator, codes: Array, share: float) -> Array:
    return np.where(random.random(len(codes)) < share, -1, codes)


def _texts(names: tuple[str, ...], codes: Array) -> Array:
    return np.array([*names, None], dtype=object)[codes]


@click.command(help=__doc__)
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--rows", default=60_000, show_default=True)
@click.option("--seed", default=0, show_default=True)
def main(out: Path, rows: int, seed: int) -> None:
    """Write a table."""
    table = messy(rows, seed)
    table.frame.assign(**{LABEL: table.label}).to_csv(out, index=False)


if __name__ == "__main__":
    main()
