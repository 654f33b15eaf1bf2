"""Docstrings, help texts and messages keep to plain sentences."""

import ast
import re

MESSAGES = {
    "warn",
    "echo",
    "InputError",
    "MemoryBudgetError",
    "CorruptDataError",
    "ClusterError",
    "ParameterError",
}
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
    r"(?:^|[.!?:]\s+|\n\n)(?:Those|That of|What is|So many)\b|(?<!one )\bof(?=[.,;:!?)]|\s*$)"
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


def texts(tree):
    """Docstrings, and the literals of errors, warnings, messages and help, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield getattr(node, "lineno", 1), ast.get_docstring(node) or ""
        called = getattr(node, "func", None)
        is_help = isinstance(node, ast.keyword) and node.arg in ("help", "hint")
        if (
            isinstance(node, ast.Raise)
            or is_help
            or getattr(called, "attr", getattr(called, "id", "")) in MESSAGES
        ):
            for text in literals(node):
                yield node.value.lineno if is_help else node.lineno, text


def test_sentences_are_plain(repository):
    found = {
        f"{path.relative_to(repository)}:{line}: {text[max(0, match.start() - 60) : match.end() + 30]!r}"
        for path in sorted((repository / "distkern").rglob("*.py"))
        if path.relative_to(repository).parts[1] not in EXEMPT
        for line, text in texts(ast.parse(path.read_text(encoding="utf-8")))
        for match in REFUSED.finditer(text)
    }
    assert not found, "\n".join(sorted(found))
