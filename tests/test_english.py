"""Docstrings, help texts and messages keep to plain sentences."""

import ast
import re

#: calls whose texts users read
MESSAGES = {"warn", "echo", "InputError", "MemoryBudgetError", "CorruptDataError", "ClusterError"}
#: packages whose sentences are still to be mended
EXEMPT = {
    "bases",
    "common",
    "engine",
    "estimators",
    "kernels",
    "losses",
    "passes",
    "runs",
    "search",
    "solvers",
}
REFUSED = re.compile(
    r"(?:^|[.!?;:] )(?:Those|That of|What is|What was|So many)\b|(?<!one )\bof(?=[.,;:!?)]|$)"
)


def literals(node):
    """The texts below a node; what an f-string inserts stands as {}."""
    if isinstance(node, ast.JoinedStr):
        yield "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    else:
        for part in ast.iter_child_nodes(node):
            yield from literals(part)


def sentences(tree):
    """Paragraphs of docstrings, and of the literals of errors, warnings, messages and help."""
    for node in ast.walk(tree):
        texts = []
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            texts.append(ast.get_docstring(node) or "")
        called = getattr(node, "func", None)
        is_help = isinstance(node, ast.keyword) and node.arg in ("help", "hint")
        if (
            isinstance(node, ast.Raise)
            or is_help
            or getattr(called, "attr", getattr(called, "id", "")) in MESSAGES
        ):
            texts += literals(node)
        yield from (" ".join(part.split()) for text in texts for part in text.split("\n\n"))


def test_sentences_are_plain(repository):
    found = [
        f"{path.relative_to(repository)}: {text[max(0, match.start() - 40) : match.end() + 30]!r}"
        for path in sorted((repository / "distkern").rglob("*.py"))
        if path.relative_to(repository).parts[1] not in EXEMPT
        for text in sentences(ast.parse(path.read_text(encoding="utf-8")))
        for match in REFUSED.finditer(text)
    ]
    assert not found, "\n".join(found)
