"""The architecture: who imports whom, where dask and zarr live, how long files are, what its pages say."""

import ast
import inspect
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import distkern
from distkern.solvers.base import AbstractSolver

PACKAGE = Path(distkern.__file__).parent
#: Author 2001, Author and Author 2001, Author, Author and Author (2001), Author et al. 2001
CITED = re.compile(
    r"\b([A-Z][a-z]+(?:-[A-Z][a-z]+)?)(?:(?:, [A-Z][\w-]+)*(?:,? (?:and|&) [A-Z][\w-]+)?| et al\.)(?:'s)? "
    r"\(?((?:19|20)\d\d)\b"
)
MOST_LINES = 500

#: folder, or folder in it that lies higher -> what its files may import beside themselves
ARROWS = {
    "core": (),
    "passes": ("core",),
    "maths": ("passes", "core"),
    "data.columns": ("core",),
    "data.formats": ("data.columns", "core"),
    "data.store": ("core",),
    "data": ("data.columns", "data.formats", "data.store", "core"),
    "choose": ("maths", "core"),
    "solvers": ("choose", "maths", "passes", "core"),
    "choose.values": ("choose", "solvers", "maths", "passes", "core"),
    "engine": ("solvers.base", "data", "data.store", "passes", "core"),
    "show": ("engine.events", "data", "data.store", "core"),
    "show.live": ("show", "engine.events", "core"),
    "model": (
        "solvers",
        "maths",
        "passes",
        "engine.checkpoint",
        "engine.plan",
        "data",
        "data.columns",
        "data.store",
        "show.explanation",
        "show.page",
        "show.stages",
        "core",
    ),
    "model.export": ("model", "maths", "data", "data.store", "core"),
    "runs": (
        "model",
        "choose",
        "choose.values",
        "solvers.base",
        "solvers.sample",
        "maths.bases",
        "maths.maps",
        "passes",
        "engine",
        "data",
        "data.columns",
        "data.store",
        "show.explanation",
        "show.metrics",
        "core",
    ),
    "choose.tuning": ("choose", "runs", "model", "passes", "engine", "data", "data.store", "core"),
    "estimators": (
        "runs",
        "choose",
        "model",
        "show",
        "solvers",
        "maths",
        "passes",
        "engine",
        "data",
        "data.store",
        "core",
    ),
    "jobs": ("engine.checkpoint", "engine.events", "data", "data.store", "core"),
    "cli": (
        "runs",
        "model",
        "choose.tuning",
        "estimators",
        "jobs",
        "show",
        "show.live",
        "engine",
        "solvers",
        "maths",
        "passes",
        "data",
        "data.formats",
        "data.columns",
        "data.store",
        "core",
    ),
    "__main__": ("cli",),
    "__init__": ("runs", "core"),
}

#: folder of a family in maths -> the others there that its files may import
FAMILIES = {
    "losses": (),
    "samplers": (),
    "kernels": ("samplers",),
    "maps": ("kernels",),
    "bases": ("kernels", "samplers"),
    "landmarks": ("kernels",),
    "features": ("kernels", "samplers", "bases", "landmarks"),
}

#: third-party package -> the folders and files that may import it
HOMES = {
    "dask": ("engine/executors", "engine/dask", "show/live"),
    "distributed": ("engine/executors", "engine/dask", "show/live"),
    "bokeh": ("show/live", "show/plots.py"),
    "dask_ml": ("engine/dask",),
    "zarr": ("data/store/_zarr.py",),
    "click": ("cli",),
    "pydantic": ("cli", "data"),
    "rich": ("cli", "show"),
    "fsspec": ("data",),
}

#: what lies at the top of the repository, beside files and folders whose names begin with a dot
TOP = {"pyproject.toml", "distkern", "workflows", "tests", "cluster", "README.md", "LICENSE", "CHANGELOG.md"}

#: distribution -> import name, where they differ
IMPORT_NAMES = {"scikit-learn": "sklearn", "dask-ml": "dask_ml", "google-crc32c": "google_crc32c"}


def has_solver(path):
    """Whether a class in the file is a solver, and no template of others."""
    inner = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    module = import_module(f"distkern.{inner}")
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type)]
    own = [kind for kind in kinds if kind.__module__ == module.__name__ and issubclass(kind, AbstractSolver)]
    return any(not kind.__name__.startswith("Abstract") for kind in own)


SOLVERS = [path for path in sorted((PACKAGE / "solvers").rglob("[a-z]*.py")) if has_solver(path)]


#: modules whose page says what a class that derives from theirs must give, and may
PAGES = {
    "solvers.base": ("AbstractSolver",),
    "solvers.explicit": ("AbstractExplicit",),
    "solvers.streamed": ("AbstractStreamed", "AbstractLoop", "BatchLoop"),
    "maths.bases.base": ("AbstractBasis",),
    "maths.losses.base": ("AbstractLoss", "AbstractElementwiseLoss"),
    "maths.kernels.base": ("AbstractKernel", "AbstractScaledKernel", "AbstractTileKernel"),
    "data.columns.base": ("AbstractColumn",),
    "model.value": ("FittedModel",),
    "estimators.base": ("AbstractClassifier", "AbstractRegressor"),
}


@pytest.fixture(scope="module")
def trees():
    """Every file, parsed."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


@pytest.fixture(scope="module")
def imports(trees):
    """Files and the full names that they import anywhere, in functions too."""
    found = []
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found += [(path, alias.name) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}: relative import"
                found += [(path, f"{node.module}.{alias.name}") for alias in node.names]
    return found


@pytest.fixture(scope="module")
def architecture():
    """The page on it."""
    return (PACKAGE / "ARCHITECTURE.md").read_text(encoding="utf-8")


@cache
def folder(path):
    return home(".".join(path.relative_to(PACKAGE).with_suffix("").parts))


@cache
def home(name):
    """The folder of :data:`ARROWS` in which a module lies."""
    return max((place for place in ARROWS if within(name, place)), key=len)


def within(name, place):
    return name == place or name.startswith(f"{place}.")


def test_imports_point_downwards(imports):
    for path, name in imports:
        if within(name, "distkern"):
            here, inner = folder(path), name.removeprefix("distkern.")
            allowed = [place for place in (here, *ARROWS[here]) if within(place, home(inner))]
            assert any(within(inner, place) for place in allowed), f"{path} must not import {name}"


def test_families_import_downwards(imports):
    for path, name in imports:
        _, room, here, *_ = (*path.relative_to(PACKAGE.parent).parts, "")
        if room == "maths" and name.startswith("distkern.maths."):
            assert name.split(".")[2] in (here, *FAMILIES[here]), f"{path} must not import {name}"


def test_third_party_packages_stay_in_their_folders(imports):
    for path, name in imports:
        homes = HOMES.get(name.partition(".")[0])
        here = path.relative_to(PACKAGE).as_posix()
        is_home = homes is None or any(here == home or here.startswith(f"{home}/") for home in homes)
        assert is_home, f"{here} imports {name}"


def test_the_arrows_have_no_cycle():
    remaining = {name: {home(place) for place in places} for name, places in ARROWS.items()}
    while remaining:
        bottom = {name for name, places in remaining.items() if not places & remaining.keys()}
        assert bottom, f"cycle among {sorted(remaining)}"
        remaining = {name: places for name, places in remaining.items() if name not in bottom}


def test_every_arrow_points_downwards_in_the_figure_of_the_architecture(architecture):
    figure = architecture.partition("exact arrows.\n\n")[2].partition("\n\n")[0].splitlines()
    layers = [re.split(r"\s{2,}", line.strip())[:-1] for line in figure]
    heights = {name: -number for number, names in enumerate(layers) for name in names}
    arrows = {name: set(places) for name, places in ARROWS.items() if not name.startswith("__")}
    assert set(heights) == set(arrows)
    for name, places in arrows.items():
        for place in places:
            assert heights[home(place)] < heights[name], f"{name} -> {place}"


def test_files_and_classes_that_the_architecture_names_are_there(repository, architecture, trees):
    roots = (PACKAGE, repository / "tests", repository / "workflows")
    files = [path.as_posix() for root in roots for path in root.rglob("*.py")]
    for name in re.findall(r"`(?:python )?([\w/]+\.py)`", architecture):
        assert any(file.endswith(f"/{name}") for file in files), name
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    classes = {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    assert set(re.findall(r"`([A-Z]+[a-z]\w*)[`.]", architecture)) <= classes


def test_class_names_exist_once(trees):
    homes = {}
    for path, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(path.relative_to(PACKAGE).as_posix())
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


@pytest.fixture(scope="module")
def members(trees):
    """Methods and fields by class."""
    members = {}
    for tree in trees.values():
        for kind in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
            # with fields for type checkers alone
            lines = [*kind.body, *(each for one in kind.body if isinstance(one, ast.If) for each in one.body)]
            names = [one.name for one in lines if isinstance(one, ast.FunctionDef)]
            targets = [one.target for one in lines if isinstance(one, ast.AnnAssign)]
            targets += [each for one in lines if isinstance(one, ast.Assign) for each in one.targets]
            names += [each.id for one in targets for each in ast.walk(one) if isinstance(each, ast.Name)]
            members.setdefault(kind.name, set()).update(names)
    return members


def test_pseudo_code_heads_every_solver_and_names_members_that_are_there(trees, members):
    known = {node.name for tree in trees.values() for node in tree.body if hasattr(node, "name")}
    for path in SOLVERS:
        page = ast.get_docstring(trees[path]) or ""
        # the paper, at least two spaces, ours
        assert len(re.findall(r"^ {4,}\S.* {2,}\S", page, re.M)) > 3, f"{path}: no pseudo-code in two columns"
        found = re.findall(r"(?<![.\w])(_?[A-Z]\w+)\.(\w+)", page)
        assert len(found) > 3, path
        assert [pair for pair in found if pair[1] not in members.get(pair[0], ())] == [], path
        assert set(re.findall(r"(?<!\.)\b(\w+)\(\)", page)) <= known, path


@pytest.mark.parametrize("page", PAGES)
def test_the_page_of_a_base_class_lists_its_hooks(page, members):
    module = import_module(f"distkern.{page}")
    text = re.sub(r":(class|mod):", "", inspect.getdoc(module))
    hooks = {"must": set(), "may": set()}
    for heading, lines in re.findall(r"(must|may)\s+give[^:]*:\n\n((?: {4}.*\n?)+)", text):
        for line in lines.splitlines():
            hooks[heading] |= set(line[4:].partition("  ")[0].split(", "))
    kinds = [getattr(module, name) for name in PAGES[page]]
    known = {name for kind in kinds for one in kind.__mro__ for name in members.get(one.__name__, ())}
    assert min(map(len, hooks.values())) > 2
    # somewhere else they are given
    counts = Counter(name for one in members.values() for name in one)
    assert [name for name in hooks["may"] if counts[name] < 2] == []
    assert hooks["must"] | hooks["may"] <= known
    for kind in kinds:
        left = {name for name in dir(kind) if getattr(getattr(kind, name), "__isabstractmethod__", False)}
        assert left <= hooks["must"], kind


def test_the_top_level_holds_what_is_agreed(repository):
    git = shutil.which("git")
    if git is None or not (repository / ".git").exists():
        pytest.skip("no git, or no checkout of it")
    listed = subprocess.run([git, "ls-files"], cwd=repository, capture_output=True, text=True, check=True)
    top = {name.partition("/")[0] for name in listed.stdout.splitlines()}
    assert {name for name in top if not name.startswith(".")} == TOP


def test_every_third_party_import_is_declared(repository, imports):
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    # what an extra brings is imported where it is used, with a message where it is missing
    needed = [*project["dependencies"], *project["optional-dependencies"]["onnx"]]
    names = [requirement.partition(">")[0].strip() for requirement in needed]
    declared = {IMPORT_NAMES.get(name, name) for name in names}
    used = {name.partition(".")[0] for _, name in imports}
    assert used - sys.stdlib_module_names - {"distkern"} <= declared


def test_papers_that_are_cited_are_listed(repository):
    papers = (PACKAGE / "PAPERS.md").read_text(encoding="utf-8")
    # by the first author and the year: the names between are told in several ways
    known = set(re.findall(r"^- ([A-Z][\w-]+)[^:\n]*? (\d{4}): ", papers, re.M))
    guide, cited = (repository / "workflows" / "guide").glob("*.md"), set()
    for path in [*PACKAGE.rglob("*.py"), PACKAGE / "ARCHITECTURE.md", *guide]:
        text = re.sub(r"\n\s*(#:? )?", " ", path.read_text(encoding="utf-8"))
        assert not re.search(r"\b(csvrg|c?dsg|simba)\.txt", text), path
        found = set(CITED.findall(text))
        missing = found - known
        assert not missing, f"{path}: list {missing} in distkern/PAPERS.md"
        cited |= found
    assert known <= cited, "listed there and not cited"


def test_programs_import_names_that_are_there(repository):
    programs = [path for room in ("workflows", "cluster") for path in (repository / room).rglob("*.py")]
    nodes = {path: ast.walk(ast.parse(path.read_text(encoding="utf-8"))) for path in programs}
    for path, found in nodes.items():
        for node in found:
            if isinstance(node, ast.ImportFrom) and within(str(node.module), "distkern"):
                module = import_module(node.module)
                for name in (alias.name for alias in node.names):
                    there = hasattr(module, name) or find_spec(f"{node.module}.{name}") is not None
                    assert there, f"{path}: {node.module} has no {name}"


def test_files_are_short():
    for path in PACKAGE.rglob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES, path


#: what a process does -> modules that it must not load by that
IMPORTS = {
    "import distkern.solvers.csvrg, distkern.data.dataset, distkern.passes, distkern.model.value\n"
    "import distkern.runs.drift, distkern.runs.evaluation, distkern.runs.sources": (
        *("sklearn", "pandas", "numba", "pyarrow", "rich", "click", "scipy"),
    ),
    # with those of the runner, workers would need more than a run plans
    "from distkern.data.part import count_sides, join_counts": ("sklearn", "pandas", "numba"),
    # it would take half of what a worker of the demo may use
    "import distkern.runs.importance": ("sklearn",),
    "import distkern.cli.train, distkern.runs.run, distkern.engine.executors.cluster\n"
    "import distkern.show.live.forward, distkern.show.terminal, distkern.show.report\n"
    "import distkern.cli.evaluation_page, distkern.cli.tuning": ("dask.array", "sparse", "numba", "bokeh"),
    "from distkern.solvers.base import SOLVERS; SOLVERS.find('newton')": (
        *("distkern.solvers.csvrg", "distkern.solvers.simba", "distkern.solvers.cells"),
    ),
    "import distkern.data.store.places as p; p.place_of('a').exists()": ("fsspec", "s3fs", "aiohttp"),
    "from distkern.cli.main import main; main(['algorithms'])": ("sklearn",),
    "from distkern.cli.main import main; main(['--help'])": (
        *("sklearn", "dask", "zarr", "pandas.core", "pyarrow", "numba"),
    ),
}


@pytest.mark.parametrize("what", IMPORTS, ids=[what.split("\n")[0].split(", ")[0] for what in IMPORTS])
def test_heavy_modules_are_imported_by_what_needs_them(what):
    code = f"import sys\n{what}\nprint('\\n', sorted({{*{IMPORTS[what]!r}}} & {{*sys.modules}}), sep='')"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.splitlines()[-1] == "[]"


def test_public_names_are_there_and_lazy():
    code = (
        "import sys, distkern\n"
        "assert 'sklearn' not in sys.modules and 'numpy' not in sys.modules\n"
        "assert distkern.CSVRGClassifier.__module__ == 'distkern.estimators.csvrg'\n"
        "assert 'distkern.estimators.svrg' not in sys.modules\n"
        "assert dir(distkern) == distkern.__all__\n"
        "assert {*distkern._HOMES, '__version__'} < set(distkern.__all__)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert all(getattr(distkern, name) is not None for name in distkern.__all__)
    with pytest.raises(AttributeError, match="no_such_name"):
        distkern.no_such_name  # noqa: B018


def test_arrays_of_tiles_are_written_in_one_place(trees):
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and any(word.arg == "out" for word in node.keywords):
                is_numpy = ast.unparse(node.func).startswith("np.")
                here = path.relative_to(PACKAGE).as_posix()
                assert not is_numpy or here == "core/tiles.py", f"{path}:{node.lineno}: use core.tiles"
