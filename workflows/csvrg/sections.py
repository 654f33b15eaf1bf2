"""What the report on Tan et al. 2019 says, from the measurements that there are."""

from __future__ import annotations

import math

import numpy as np

from workflows.csvrg import exact
from workflows.csvrg.paper import TABLE_2, Accuracy, text
from workflows.csvrg.plan import METHODS, OF_DIAMETERS, SEARCHED, Plan, Source, accuracies, error_of, size_of
from workflows.records import Record, Records
from workflows.report import Plot, Section, Table, made, spread

_TITLE = "CSVRG and optimal margin distribution machines: Table 2 and Figures 1 and 2 of the paper"
_NEAREST, _MOVED, _UNIFORM, _SPAN = "coverage, nearest", "coverage, span", "uniform, nearest", "uniform, span"
_FINDING = (
    "The four machines have at most the same number of landmarks and differ in two ways. Landmarks are "
    "either a coverage, found by a scan in the order of the seed, or rows drawn uniformly. The gradient "
    "of a row goes either to its nearest landmark, as in the paper, or to its projection on the span of "
    "all landmarks. A coverage spends landmarks on outliers, so most rows share the few others; and the "
    "farther a row is from its landmark, the less accurate its moved gradient is."
)
_PICK = (
    "The defaults, **uniform landmarks and projection on the span**, are the right choice for most data. "
    "A coverage guarantees a landmark within a known distance of every row. Projecting a row takes r^2 "
    "operations; with many landmarks, moved gradients are faster, and they lose little accuracy where "
    'landmarks are dense. Newton\'s method (`algorithm = "newton"`) minimizes the same objective over the '
    "same landmarks in fewer passes."
)


def introduction(plan: Plan, command: str) -> tuple[str, str]:
    """The title and the paragraphs under it."""
    scale = plan.scale
    number = f"{scale.seeds} seed{'s' if scale.seeds > 1 else ''}"
    settings = (
        "those of the job file in `workflows/csvrg` if the data set has one; else "
        if scale.job_settings
        else ""
    )
    folds = f"{scale.folds} folds" if scale.folds > 1 else "a fifth held out"
    settings += (
        f"the best of {scale.candidates} drawn from the paper's ranges (lam to 2^15, not 2^11), by {folds} "
        f"of {scale.search_rows:,} training rows"
    )
    return _TITLE, (
        f"Made on {made()}, by `{command}`.\n\n{number[0].upper()}{number[1:]}: each draws the order of the "
        f"training rows (at most {scale.rows:,}), which a coverage follows, and all random choices; "
        f"the test rows (at most {scale.test_rows:,}) stay the same. ± is the standard deviation over the "
        f"seeds; the paper's is over ten repeats. Settings: {settings}. Exact machines learn from the first "
        f"{scale.exact_rows:,} rows of a seed, in a single cell, with the best gamma and C of a grid by "
        f"{max(3, scale.folds)} folds of {exact.SEARCH_ROWS:,} of them.\n\nCSVRG+ODM uses the paper's "
        "steps, with stages of one pass (up to three if the step size requires it) and eta = 1 / L, which "
        "the paper does not state. The next snapshot is the mean of a stage's late iterates instead of the "
        "last or a random one."
    )


def sections(plan: Plan, records: Records) -> list[Section]:
    """Everything, in the paper's order."""
    found: list[Section] = []
    for source in plan.sources:
        table, plot = table_2(plan, source, records)
        if table.rows:
            found.append((table, [plot]))
    found.append((where_gradients_go(plan, records), ()))
    for source in plan.sources:
        section = figure_1(plan, source, records)
        if section[1]:
            found.append(section)
    found.append((chosen(plan, records), ()))
    found.append((differences(plan, records), ()))
    return found


def table_2(plan: Plan, source: Source, records: Records) -> tuple[Table, Plot]:
    """Accuracies and sizes of one data set, and one against the other (Figure 2)."""
    paper = TABLE_2.get(source.name)
    reported: dict[str, tuple[Accuracy, str]] = {}
    if paper is not None:
        reported = {
            "CSVRG+ODM, coverage, nearest": (paper.csvrg, f"{paper.landmarks}"),
            "AVM, coverage": (paper.avm, f"{paper.avm_landmarks}"),
            "exact ODM": (paper.odm, ""),
            "SVC of scikit-learn": (paper.svm, ""),
        }
    rows: list[tuple[str, ...]] = []
    dots: dict[str, list[tuple[float, float]]] = {}
    bars: dict[str, list[tuple[float, float, float]]] = {}
    for method, prefix in _prefixes(source).items():
        own = accuracies(records, prefix, plan.scale.seeds)
        if not own:
            failed = (records.get(f"{prefix}/seed-0") or {}).get("failed")
            rows += [(method, "", f"failed: {failed}", "", "", "", "")] if failed else []
            continue
        sizes = [size_of(one) for one in seeds_of(plan, records, prefix)]
        size = float(np.nanmean(sizes)) if not all(map(math.isnan, sizes)) else math.nan
        learned = next((one.get("rows") for one in seeds_of(plan, records, prefix)), None)
        theirs = reported.get(method, (None, ""))
        rows.append(
            (
                method,
                f"{learned or _rows(source, records):,}",
                spread(own, 2),
                f"{min(own):.2f} to {max(own):.2f}",
                text(theirs[0]) if method in reported else "",
                "" if math.isnan(size) else f"{size:,.0f}",
                theirs[1],
            )
        )
        if not math.isnan(size):
            label = method.removeprefix("CSVRG+ODM, ")
            dots[label] = [(size, 100 - float(np.mean(own)))]
            bars[label] = [(size, 100 - max(own), 100 - min(own))]
    header = (
        "machine",
        "training rows",
        "accuracy, %",
        "least to greatest",
        "paper's",
        "landmarks or support",
        "paper's",
    )
    words = (
        "Accuracy on the test rows, and of the exact machines how many rows have a coefficient. The figure "
        "is the paper's Figure 2 with the errors: bars show the minimum and the maximum over the seeds."
    )
    plot = Plot(
        f"{source.name}-size",
        f"{source.name}: error against the size of the model",
        "landmarks, or rows with a coefficient",
        "test error, %",
        dots,
        log_y=False,
        bands=bars,
    )
    return Table(f"Table 2: {source.name}", words, header, rows), plot


def where_gradients_go(plan: Plan, records: Records) -> Table:
    """Coverage against uniform landmarks, nearest against span."""
    names = (_NEAREST, _MOVED, _UNIFORM, _SPAN)
    rows, said = [], []
    for source in plan.sources:
        own = {
            name: accuracies(records, _prefixes(source)[f"CSVRG+ODM, {name}"], plan.scale.seeds)
            for name in names
        }
        if not all(own.values()):
            continue
        mean = {name: float(np.mean(values)) for name, values in own.items()}
        paper = TABLE_2.get(source.name)
        rows.append(
            (source.name, *(spread(own[name], 2) for name in names), text(paper.csvrg) if paper else "")
        )
        said.append(
            f"**{source.name}**: the span instead of the nearest landmark gains "
            f"{mean[_MOVED] - mean[_NEAREST]:+.1f} points with a coverage and "
            f"{mean[_SPAN] - mean[_UNIFORM]:+.1f} with uniform landmarks; uniform landmarks instead of a "
            f"coverage gain {mean[_UNIFORM] - mean[_NEAREST]:+.1f} at the nearest landmark and "
            f"{mean[_SPAN] - mean[_MOVED]:+.1f} in the span. Over the orders of the scan the paper's machine "
            f"has {min(own[_NEAREST]):.1f} to {max(own[_NEAREST]):.1f} %."
        )
    words = "\n\n".join([_FINDING, *said, _PICK])
    header = ("data", *names, "paper: coverage, nearest")
    return Table("What the nearest landmark costs", words, header, rows)


def figure_1(plan: Plan, source: Source, records: Records) -> Section:
    """Error and model size against the diameter."""
    found = records.get(f"diameters/{source.name}") or {}
    diameters = found.get("diameters", [])
    errors: dict[str, list[tuple[float, float]]] = {}
    spreads: dict[str, list[tuple[float, float, float]]] = {}
    sizes, between = [], []
    rows: list[tuple[str, ...]] = []
    for diameter in diameters:
        cells = [f"{diameter:.3g}"]
        for method in OF_DIAMETERS:
            label = method.removeprefix("CSVRG+ODM, ")
            prefix = f"diameter/{diameter:.4g}/{source.name}/{_key(method)}"
            own = [100 - value for value in accuracies(records, prefix, plan.scale.seeds)]
            if not own:
                continue
            if method == OF_DIAMETERS[0]:
                size = [size_of(one) for one in seeds_of(plan, records, prefix)]
                sizes.append((diameter, float(np.mean(size))))
                between.append((diameter, min(size), max(size)))
                cells.append(spread(size, 0))
            errors.setdefault(label, []).append((diameter, float(np.mean(own))))
            spreads.setdefault(label, []).append((diameter, min(own), max(own)))
            cells.append(spread(own, 2))
        if len(cells) == 2 + len(OF_DIAMETERS):
            rows.append(tuple(cells))
    words = (
        "The diameter of the coverage against landmarks and errors; bands show the minimum and the maximum "
        "over the seeds. The paper's Figure 1 is drawn without numbers: as there, errors fall and landmarks "
        "multiply as the diameter shrinks. Settings are the same at every diameter."
    )
    names = (method.removeprefix("CSVRG+ODM, ") for method in OF_DIAMETERS)
    header = ("diameter", "landmarks", *(f"error, %: {name}" for name in names))
    table = Table(f"Figure 1: {source.name}", words, header, rows)
    if not errors:
        return table, []
    label = "diameter of the coverage"
    return table, [
        Plot(
            f"{source.name}-diameter-error",
            f"{source.name}: error",
            label,
            "test error, %",
            errors,
            log_y=False,
            log_x=False,
            bands=spreads,
        ),
        Plot(
            f"{source.name}-diameter-size",
            f"{source.name}: landmarks",
            label,
            "landmarks",
            {"landmarks": sizes},
            log_x=False,
            bands={"landmarks": between},
        ),
    ]


def chosen(plan: Plan, records: Records) -> Table:
    """Settings by data set."""
    rows = []
    for source in plan.sources:
        for search in SEARCHED:
            settings = plan.chosen(source, search, records) or {}
            failed = (records.get(f"search/{source.name}/{search}") or {}).get("failed")
            rows.append((source.name, search, f"failed: {failed}" if failed else _settings(settings)))
        for method in exact.METHODS:
            settings = (records.get(f"exact-search/{source.name}/{method}") or {}).get("settings", {})
            if settings:
                rows.append((source.name, method, _settings(settings)))
    return Table("Settings", "", ("data", "machine", "settings"), rows)


def differences(plan: Plan, records: Records) -> Table:
    """Why figures are not the paper's, by data set, and in general."""
    parts = []
    for source in plan.sources:
        paper = TABLE_2.get(source.name)
        own = accuracies(records, _prefixes(source)["CSVRG+ODM, coverage, nearest"], plan.scale.seeds)
        if paper is None or not own or paper.csvrg is None:
            continue
        made_of = records.get(f"rows/{source.name}/seed-0") or {}
        off = float(np.mean(own)) - paper.csvrg[0]
        parts.append(
            f"**{source.name}**: {off:+.1f} points against the paper's {text(paper.csvrg)}, with "
            f"{made_of['rows']:,} of {made_of['all_rows']:,} training rows (the paper's Table 1 counts "
            f"{paper.rows:,} rows, training and test together). {paper.about}"
        )
    parts.append(
        "The paper does not state its stages, steps and step sizes, the order in which its coverage "
        "scans the rows, or which ball owns a row at a border; here they are those of Algorithm 1 with "
        "gradients at the nearest landmark. Its lam goes to 2^11, which is often the best in searches "
        "here; the ranges here extend to 2^15. Its diameters are chosen manually for 100 to 1,000 core "
        "points; here the number of landmarks is at most that of its Table 2. Its exact machines had "
        "all rows; here they have one cell of rows as stated above. The linear machine and the neural "
        "network (100 hidden units, a tenth of the rows for early stopping) are not in the paper. Its "
        "seconds come from another machine and are not compared."
    )
    return Table("Where figures differ from the paper's, and why", "\n\n".join(parts))


def seeds_of(plan: Plan, records: Records, prefix: str) -> list[Record]:
    """Measurements that have not failed."""
    found = [records.get(f"{prefix}/seed-{seed}") for seed in range(plan.scale.seeds)]
    return [one for one in found if one is not None and not math.isnan(error_of(one))]


def _prefixes(source: Source) -> dict[str, str]:
    """Keys of the rows of Table 2."""
    approximate = {method: f"table/{source.name}/{_key(method)}" for method in METHODS}
    return approximate | {method: f"exact/{source.name}/{method}" for method in exact.METHODS}


def _key(method: str) -> str:
    return method.replace(", ", "-")


def _rows(source: Source, records: Records) -> int:
    return int((records.get(f"rows/{source.name}/seed-0") or {}).get("rows", 0))


def _settings(settings: Record) -> str:
    return ", ".join(
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in settings.items()
    )
