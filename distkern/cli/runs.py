"""``distkern runs``."""

from __future__ import annotations

import json
import math
import shlex
from functools import partial
from typing import Any

import click

from distkern.cli import options
from distkern.core.errors import InputError
from distkern.data.store.places import Place

#: figures of the last stage that describe a run
_FIGURES = (
    *("train_error", "test_error", "train_rmse", "test_rmse", "error", "objective", "passes", "seconds"),
    "command_seconds",
)


@click.command()
@click.argument("folder", type=options.PLACE)
@options.as_json
def runs(folder: Place, as_json: bool) -> None:
    """Compare the models and unfinished runs in a folder.

    The best comes first: by the held-out score that chose the settings if all models have one, else by the
    error on test rows. Further tables list the hyperparameters that differ, with the values chosen for
    "auto". Each target has its own tables. Keep runs on different data sets in different folders: their
    errors cannot be compared.

    \b
    Example:
      distkern runs models
    """
    from distkern.core.text import error_name

    groups = _by_target(_found(folder))
    by_score = [all(run["score"] is not None for run in group if run["ended"]) for group in groups]
    for group, by in zip(groups, by_score, strict=True):
        group.sort(key=partial(_rank, by_score=by))
    if as_json:
        click.echo(json.dumps([run for group in groups for run in group]))
        return
    for group, by in zip(groups, by_score, strict=True):
        if len(groups) > 1:
            target = next((run["target"] for run in group if run["target"]), "unknown")
            click.echo(f"target: {target} ({error_name(group[0])})")
        _show(group, by)


def _by_target(found: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the runs of each task, target and classes; unfinished ones stay with the first of their task."""
    from distkern.core.text import error_name

    groups: dict[Any, list[dict[str, Any]]] = {}
    for run in sorted(found, key=lambda run: (run["ended"] is None, run["run"])):
        key = (error_name(run), run["target"], str(run["classes"]))
        if run["ended"] is None:
            key = next((one for one in groups if one[0] == key[0]), key)
        groups.setdefault(key, []).append(run)
    return [*groups.values()]


def _show(found: list[dict[str, Any]], by_score: bool) -> None:
    """Print the runs of one target, the best first."""
    from distkern.cli.tables import by_parts, console, fitting, table, wrapped
    from distkern.core.text import error_name, in_bytes, in_error, in_percent, in_time, shortened

    names = {error_name(run) for run in found}
    error = names.pop() if len(names) == 1 else "error"
    header = ("run", "algorithm", "held-out", f"test {error}", f"train {error}", "time", "peak", "ended")
    is_real = error == "rmse"
    rows = [
        [
            shortened(run["run"]),
            _algorithm(run),
            "-" if run["score"] is None else f"{math.sqrt(run['score']) if is_real else run['score']:.4g}",
            in_error(run, "test_error"),
            in_error(run, "train_error"),
            in_time(run.get("command_seconds", run["seconds"])),
            in_bytes(run["peak_bytes"]),
            # the reason without its rule
            (run["ended"] or "not yet").partition(":")[0],
        ]
        for run in found
    ]
    base = next((run["base"] for run in found if run["base"]), None)
    if base is not None:
        score = f"{base['log_loss']:.4g}" if any(run["score"] is not None for run in found) else "-"
        rows.append(["base rate", "-", score, "-", in_percent(base["error"]), "-", "-", "-"])
    unscored = () if any(run["score"] is not None for run in found) else ("held-out",)
    kept, cells = fitting(header, rows, ("peak", "time", "ended"), unscored)
    text = [place for place, name in enumerate(kept) if name in ("run", "algorithm", "ended")]
    console().print(table(kept, cells, text=text))
    if not unscored:
        by = "ranked by it" if by_score else "not all runs have it: ranked by test error"
        loss = "root mean squared error" if is_real else "log loss"
        click.echo(wrapped(f"held-out: {loss} on held-out training rows; {by}"))
    differing = _differing(found)
    settings = list(dict.fromkeys(name for _, params in differing for name in params))
    columns = [[shortened(name), *(_word(params.get(key)) for key in settings)] for name, params in differing]
    for part in by_parts("run", settings, columns):
        console().print(part)


def _algorithm(run: dict[str, Any]) -> str:
    """Return the algorithm; for "auto" the chosen one."""
    chosen = run["hyperparameters"].get("algorithm")
    name = (run["algorithm"] or "-").removesuffix("_regressor")
    return f"{chosen} (auto)" if name == "auto" and chosen not in (None, "auto") else name


def _word(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _found(folder: Place) -> list[dict[str, Any]]:
    """Return the facts of each run in a folder."""
    from distkern.runs.folder import begun_algorithm
    from distkern.runs.persistence import read_description
    from distkern.show.metrics import read

    if not folder.is_dir():
        raise InputError("no such folder", where=str(folder), hint="give the folder with your models")
    if (folder / "model.json").exists():
        hint = f"give the folder around it: `distkern runs {shlex.quote(str(folder.parent))}`"
        raise InputError("is a model", where=str(folder), hint=hint)
    found = []
    for path in folder.iterdir():
        metrics = path / "metrics.jsonl"
        history = read(metrics) if metrics.exists() else []
        if not history:
            continue
        last = history[-1]
        known = read_description(path) if (path / "model.json").exists() else {}
        peaks = [last.get(f"{who}peak_rss_bytes") or 0 for who in ("worker_", "driver_", "")]
        found.append(
            {
                "run": path.name,
                "algorithm": known.get("algorithm") or begun_algorithm(path),
                "ended": known.get("ended"),
                "target": known.get("target_name"),
                "classes": (known.get("classes") or {}).get("values"),
                **{figure: last[figure] for figure in _FIGURES if figure in last},
                "peak_bytes": max(peaks),
                "score": _score(known),
                "base": _base(known),
                "hyperparameters": _in_use(known),
            }
        )
    if not found:
        raise InputError(
            "holds no model and no run", where=str(folder), hint="train one: distkern train --out FOLDER/NAME"
        )
    return found


def _in_use(known: dict[str, Any]) -> dict[str, Any]:
    """Return the hyperparameters of a model, with the chosen values in place of "auto"."""
    params, found = dict(known.get("params", {})), {**known.get("found", {})}
    if (machine := known.get("chosen")) is not None:
        params |= {**machine["params"], "algorithm": machine["name"]}
    if isinstance(known.get("gamma"), float):
        found.setdefault("gamma", known["gamma"])
    words = {name for name, value in params.items() if isinstance(value, str)}
    return params | {name: value for name, value in found.items() if name in words}


def _score(known: dict[str, Any]) -> float | None:
    """Return the held-out score by which the settings were chosen, or None."""
    held_out = (known.get("chosen") or {}).get("held_out")
    return None if held_out is None else float(held_out[0])


def _base(known: dict[str, Any]) -> dict[str, float] | None:
    """Return the training error and log loss of predicting the training shares as probabilities."""
    shares = known.get("class_shares")
    if not shares:
        return None
    return {"error": 1.0 - max(shares), "log_loss": -sum(p * math.log(p) for p in shares if p > 0)}


def _rank(run: dict[str, Any], *, by_score: bool) -> tuple[float, float, float, str]:
    """Return a sort key: held-out score, test error, training error; missing ones last."""
    errors = (run.get(f"{split}_rmse", run.get(f"{split}_error")) for split in ("test", "train"))
    score = run["score"] if by_score else 0.0
    score, test, train = (math.inf if error is None else float(error) for error in (score, *errors))
    return score, test, train, str(run["run"])


def _differing(found: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Return, for each run, the hyperparameters that differ in another run of its algorithm, if any."""
    differing = []
    for run in found:
        # those of an unfinished run are unknown
        known = [other for other in found if other["hyperparameters"]]
        others = [other["hyperparameters"] for other in known if _algorithm(other) == _algorithm(run)]
        params = run["hyperparameters"].items()
        different = {
            name: value for name, value in params if any(other.get(name) != value for other in others)
        }
        differing.append((run["run"], different))
    return [(name, params) for name, params in differing if params]
