"""The notebooks of the guide: executed from the first cell to the last, and fit to be shown as stored."""

import ast
import importlib.util
import json
import re

import pytest

import distkern
from pages import GUIDE, Block, commands, parsed

NAMES = ("table", "cluster")
#: what the pages of a host would not have: its folders
MACHINE = re.compile(r"/(?:home|root|Users|tmp|var|work|mnt|opt|usr)/|[A-Z]:\\\\")
MOST_BYTES = 150_000
RUNS_WITH = ("nbclient", "ipykernel", "matplotlib")
ABSENT = [name for name in RUNS_WITH if importlib.util.find_spec(name) is None]


def source(cell):
    return "".join(cell["source"])


@pytest.fixture(params=NAMES)
def path(repository, request):
    return repository / GUIDE / f"{request.param}.ipynb"


@pytest.fixture
def cells(path):
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return found


@pytest.fixture
def code(cells):
    return [cell for cell in cells if cell["cell_type"] == "code"]


@pytest.fixture
def text(cells):
    return "\n\n".join(source(cell) for cell in cells if cell["cell_type"] == "markdown")


def test_these_are_the_notebooks(repository):
    assert {page.stem for page in (repository / GUIDE).glob("*.ipynb")} == set(NAMES)
    for page in (repository / "README.md", repository / GUIDE / "quick-start.md"):
        shown = re.findall(r"\]\((?:\S*/)?(\w+)\.ipynb\)", page.read_text(encoding="utf-8"))
        assert shown == list(NAMES), page


def test_they_are_valid(path):
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    book = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    assert (book.nbformat, book.nbformat_minor) >= (4, 5)
    nbformat.validate(book)


def test_they_were_executed_from_the_first_cell_to_the_last(code):
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    kinds = {output["output_type"] for cell in code for output in cell["outputs"]}
    assert kinds <= {"stream", "execute_result", "display_data"}
    assert "display_data" in kinds


def test_outputs_are_small_and_of_no_machine(path, code):
    assert path.stat().st_size <= MOST_BYTES
    # pictures are letters of any order
    shown = re.sub(r'"image/png": "[^"]*"', "", json.dumps(code))
    assert MACHINE.search(shown) is None


def test_names_of_distkern_exist(code):
    lines = "\n".join(source(cell) for cell in code).splitlines()
    tree = ast.parse("\n".join(line.removeprefix("%time ") for line in lines))
    names = [
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "dk"
    ]
    assert names
    assert [name for name in names if name not in distkern.__all__] == []


def test_commands_and_links_are_good(path, text):
    shown = [Block("sh", block) for block in re.findall(r"^```sh\n(.*?)^```", text, flags=re.M | re.S)]
    assert shown
    for arguments in [line for block in shown for line in commands(block)]:
        parsed(arguments)
    targets = re.findall(r"\]\((?!https?:)([^)#\s]+)\)", text)
    assert targets
    assert [target for target in targets if not (path.parent / target).exists()] == []


@pytest.mark.slow
@pytest.mark.skipif(
    bool(ABSENT), reason=f"not installed: {', '.join(ABSENT)}; pip install '.[notebooks,test]'"
)
# the kernel is reached by a port of loopback, of which its own program warns
@pytest.mark.filterwarnings("default")
def test_they_run(path, tmp_path, monkeypatch):
    import nbformat
    from nbclient import NotebookClient

    # folders that the notebook makes lie where pytest cleans up
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    book = nbformat.read(path, as_version=4)
    where = {"metadata": {"path": tmp_path}}
    NotebookClient(book, timeout=240, kernel_name="python3", resources=where).execute()
    printed = [
        "".join(output["text"])
        for cell in book.cells
        for output in cell.get("outputs", [])
        if output.get("name") == "stdout"
    ]
    # what the notebooks' sentences say of their figures
    if path.stem == "cluster":
        assert "within the limit of 512 MiB: True\n" in "".join(printed)
        assert "1 worker killed; the same coefficients to the bit: True\n" in printed
    else:
        assert any(", because " in line for line in printed)
