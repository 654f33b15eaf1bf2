"""Tables of the report, with the paper's numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from workflows.averages import Seeds, by_name, curves, is_wide, text
from workflows.dsg import costs, exactness
from workflows.records import Records
from workflows.report import Plot, Section, Table
from workflows.subsets import Subset
from workflows.training import exponent


def exact(records: Records, data: Subset) -> Section:
    """Distances to the minimum."""
    prefix = f"exactness/{data.name}"
    kernels = exactness.kernels(True, data.n_rows)
    names = [*exactness.methods(True, 256), *kernels]
    found = by_name(records, prefix, names)
    solved = by_name(records, prefix, {exactness.reference(name) for name in names})
    rows, gaps = [], {}
    for name, seeds in found.items():
        least = _minima(name, found, solved)
        known = [(one, least[one["asked"]["seed"]]) for one in seeds if one["asked"]["seed"] in least]
        if not known:
            continue
        away = [[point["objective"] / best - 1 for point in one["curve"]] for one, best in known]
        first = [
            next((stage for stage, gap in enumerate(line) if gap < exactness.NEAR), math.nan) for line in away
        ]
        certified = [one["curve"][-1].get("gap", math.nan) / one["curve"][-1]["objective"] for one in seeds]
        there = sum(not math.isnan(stage) for stage in first)
        reached = text(first) if there else "not reached"
        reached += f" ({there} of {len(first)})" if 0 < there < len(first) else ""
        passes = text([len(line) - 1 for line in away])
        nearest = text([min(line) for line in away])
        rows.append((name, text([line[-1] for line in away]), nearest, reached, passes, text(certified)))
        gaps[name] = [
            {"curve": [{"passes": stage, "gap": max(gap, 1e-9)} for stage, gap in enumerate(line)]}
            for line in away
        ]
    plots = []
    for name, title, of_kernels in (
        ("exactness", "Distance to the minimum", False),
        ("exactness-kernels", "Distance to the minimum, the kernel itself", True),
    ):
        own = {label: line for label, line in gaps.items() if (label in kernels) == of_kernels}
        lines, bands = curves(own, lambda point: point["passes"], lambda point: point["gap"])
        plot = Plot(
            f"{name}-{data.name}",
            title,
            "passes",
            "relative distance",
            lines,
            log_y=is_wide(lines),
            bands=bands,
        )
        plots += [plot] if lines else []
    header = (
        "method",
        "distance at the end",
        "at the nearest",
        f"below {exactness.NEAR:g} after",
        "passes",
        "gap / objective",
    )
    return Table(f"Exact solutions on {data.name}", _words(data, list(gaps)), header, rows), plots


def _minima(name: str, found: Mapping[str, Seeds], solved: Mapping[str, Seeds]) -> dict[int, float]:
    """The least objective that a method could reach, by seed."""
    exact = solved.get(exactness.reference(name), [])
    least = {one["asked"]["seed"]: one["objective"] for one in exact}
    if not least and name.startswith("k-"):
        # weak duality: the minimum is not below it
        suffix = exactness.OF_HINGE if name.endswith(exactness.OF_HINGE) else ""
        for one in found.get(f"k-SDCA{suffix}", []):
            least[one["asked"]["seed"]] = max(point["objective"] - point["gap"] for point in one["curve"])
    return least


def _words(data: Subset, names: Sequence[str]) -> str:
    words = (
        f"{data.about[0].upper()}{data.about[1:]}. Mean of max(0, 1 - y f)² + nu/2 |w|², nu = "
        f"{exactness.NU:g}, over the same random or Nyström features for all methods. The distance "
        "is that of the objective from its minimum, divided by the minimum, which scikit-learn's "
        "LinearSVC finds on the features themselves (r-RBCD draws its own). Below "
        f"{exactness.NEAR:g} it stays from the stated pass on. The last column is SDCA's "
        "certificate, its duality gap. This comparison is not in the paper."
    )
    if not any(name.startswith("k-") for name in names):
        return words
    minimum = (
        "the one that LinearSVC finds on the rows of L, where K = L L' is the whole kernel matrix"
        if data.n_rows <= exactness.MOST_EXACT
        else "the one that the dual variables of k-SDCA certify, because the "
        f"{data.n_rows:,} x {data.n_rows:,} kernel matrix is not built; their figures have seed 0 only"
    )
    words += (
        f"\n\nThe k- forms use the kernel itself and nu/2 |f|². Their minimum is {minimum}. NORMA "
        "uses the steps of its paper, g/sqrt(t) on batches of 4 rows, and returns the last iterate. "
        "It has no dual, and its distance has the order of the last step, so it falls like "
        "1/sqrt(passes) instead of geometrically."
    )
    if "k-NORMA, truncated" in names:
        words += (
            " A row's coefficient shrinks e-fold within sqrt(t)/(g nu) steps. An expansion that is truncated "
            f"to a quarter of the rows, {data.n_rows // 4:,}, loses them before, and stays far from the "
            "minimum however many passes it makes."
        )
    if any(name.endswith(exactness.OF_HINGE) for name in names):
        words += (
            " With the hinge loss nu is 1/n, the paper's for Forest: NORMA forgets hardly anything within "
            "these passes, and the errors of its first and longest steps are in the model to its end."
        )
    return words


def requirements(records: Records) -> list[Section]:
    """Tables 2 and 3."""
    total, step = [], []
    for name, (theirs, training, predicting, _, model, columns) in costs.PAPER.items():
        every = [one for _, one in records.under(f"costs/{name}") if "failed" not in one]
        narrow = [one for one in every if one["asked"]["n_columns"] == costs.N_COLUMNS]
        if not narrow:
            continue
        sizes = sorted({one["asked"]["n_rows"] for one in narrow})
        at_size = {size: [one for one in narrow if one["asked"]["n_rows"] == size] for size in sizes}

        def slope(of: str, at_size: dict[int, Seeds] = at_size, sizes: list[int] = sizes) -> str:
            seeds = zip(*([one[of] for one in at_size[size]] for size in sizes), strict=False)
            return text(
                [exponent([float(size) for size in sizes], list(line)) for line in seeds], significant=2
            )

        wide = [one["model_bytes"] for one in every if one["asked"]["n_columns"] == costs.MANY_COLUMNS]
        times = (
            np.mean(wide) / np.mean([one["model_bytes"] for one in at_size[sizes[0]]]) if wide else math.nan
        )
        more = [
            " to ".join(
                f"{np.mean([one['more_bytes'] for one in at_size[size]]) / 2**20:.1f}" for size in sizes[::2]
            )
            if all("more_bytes" in one for one in narrow)
            else ""
        ]
        kib = [f"{np.mean([one['model_bytes'] for one in at_size[size]]) / 1024:,.0f}" for size in sizes]
        total.append(
            (
                name,
                f"{sizes[0]:,} to {sizes[-1]:,}",
                slope("train_seconds"),
                f"{training}: {theirs}",
                slope("predict_seconds"),
                f"{predicting}",
                slope("model_bytes"),
                f"{model}",
                ", ".join(kib),
                f"{times:.1f} ({'4' if columns else '1'})",
                more[0],
                slope("preparing_seconds") + " (3)" if name.startswith("n-") else "",
            )
        )
        for one in narrow:
            one["step_seconds"] = one["train_seconds"] / one["steps"]
        theirs_step, exponent_step = costs.PER_STEP[name]
        milliseconds = [text([one["step_seconds"] for one in at_size[size]], 1e3) for size in sizes]
        beside = f"{exponent_step}: {theirs_step}" if theirs_step else "not in Table 3"
        step.append((name, *milliseconds, slope("step_seconds"), beside))
    words = (
        "One pass over n generated rows with n/8 features (DSG: n/4; k-SDCA and NORMA: the rows), so that "
        "n stands for 1/ε and for t. Exponents b of a n^b are fitted to three n and shown with the "
        'paper\'s, without logarithms. "at 4 times the columns" is the growth of the model for '
        "rows with four times as many columns, with the paper's in brackets. Peak: resident MiB "
        "that training added at the smallest and the largest n, mostly tiles of a fixed size and "
        "the rows that are read.\n\n"
        "Differences: preparing concerns the matrix of n/8 landmarks. CPU seconds have fixed parts, "
        "so exponents are below the paper's at these n. A model of random features is a seed and "
        "coefficients, but one of landmarks holds these rows, so n-SDCA's grows with the columns; "
        "each call that predicts with it factorises them anew, for 1,000 rows here."
    )
    header = (
        "method",
        "n",
        "training",
        "paper",
        "prediction",
        "paper",
        "model bytes",
        "paper",
        "model KiB",
        "at 4 times the columns",
        "peak MiB",
        "preparing (paper)",
    )
    words_step = (
        "CPU milliseconds of an iteration at each n of the table above: a batch of 64 rows for DSG, "
        "NORMA, Pegasos and SBMD, a row for SDCA, and a block of 64 coefficients over all rows for RBCD. "
        "The paper's RBCD computes all predictions in each iteration, d n²; ours keeps them with "
        "the rows and computes only the features of its block, d n."
    )
    header_step = ("method", "least n", "twice", "4 times", "exponent", "paper")
    return [
        (Table("Table 2: computation and memory", words, header, total), ()),
        (Table("Table 3: an iteration", words_step, header_step, step), ()),
    ]
