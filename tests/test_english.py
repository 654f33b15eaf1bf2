"""Docstrings, help texts and messages keep to plain sentences.

No sentence or clause begins with a pronoun that stands for nothing named yet, and none ends in "of".
A section of a docstring starts a paragraph.
"""

import ast
import re

REFUSED = re.compile(
    r"(?:^|[.!?;:] )(?:Those|That of|What is|What was)\b|\b[Ss]o many\b|(?<!one )\bof(?=[.,;:!?)]|$)"
    r"|\S (?:Attributes|Parameters|Raises|Returns) -{4}"
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
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            texts.append(ast.get_docstring(node) or "")
        elif isinstance(node, ast.Call) and re.search(r"(Error|\bwarn|\becho)$", ast.unparse(node.func)):
            texts += literals(node)
        elif isinstance(node, ast.keyword) and node.arg in ("help", "hint"):
            texts += literals(node.value)
        for text in texts:
            yield from (" ".join(part.split()) for part in re.split(r"\n\s*\n|\n(?=\w[\w, *]* : )", text))


def paragraphs(markdown):
    """Paragraphs, list items and cells of a page, without code."""
    text = re.sub(r"^```.*?^```$|^(?: {4}.*\n)+", "\n", markdown, flags=re.M | re.S)
    # a name of code or of a link may end as it likes
    text = re.sub(r"`[^`]*`|\]\([^)]*\)", "x", text)
    yield from (" ".join(part.split()) for part in re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.) |\|", text))


def test_pages_are_plain(repository):
    pages = [repository / "README.md", *sorted((repository / "workflows" / "guide").glob("*.md"))]
    found = [
        f"{path.relative_to(repository)}: {text[max(0, match.start() - 40) : match.end() + 30]!r}"
        for path in pages
        for text in paragraphs(path.read_text(encoding="utf-8"))
        for match in REFUSED.finditer(text)
    ]
    assert not found, "\n".join(found)


def test_sentences_are_plain(repository):
    found = [
        f"{path.relative_to(repository)}: {text[max(0, match.start() - 40) : match.end() + 30]!r}"
        for path in sorted((repository / "distkern").rglob("*.py"))
        for text in sentences(ast.parse(path.read_text(encoding="utf-8")))
        for match in REFUSED.finditer(text)
    ]
    assert not found, "\n".join(found)
