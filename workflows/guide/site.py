"""Hooks of MkDocs: the site holds the repository's pages as they lie there, and a reference of the code."""

from __future__ import annotations

import inspect
import posixpath
import re
from pathlib import Path
from typing import Any

import click
from griffe import Class, Extension, Object
from mkdocs.structure.files import File

import distkern
from distkern.cli.main import group

ROOT = Path(__file__).parents[2]
GITHUB = "https://github.com/distkern/distkern/{}/main/"
#: a role of Sphinx, and the alternatives of a parameter
ROLE = re.compile(r":(?:class|func|meth|mod|data|attr):`(~?)([^`]+)`")
CHOICES = re.compile(r"^(\s*\w+ : [^{\n]*)\{([^{}\n]+)\}", re.MULTILINE)
#: of a link in a page's HTML to a page's source
SOURCE = re.compile(r'(?<=href=")(?P<to>[^":#]+\.(?:md|ipynb))(?=["#])')
#: of a link in Markdown: its file and the place in it
LINK = re.compile(r"(?<=\]\()(?P<to>[^)\s#]+)(?P<place>#[^)\s]*)?(?=\))")


class Reference(Extension):
    """Read the docstrings as they are meant.

    Roles such as ``:class:`` become plain code, since Markdown has none. Braces around alternatives go: the
    first alternative would be shown as the default. Of methods that are only overloads, as ``predict``, the
    documented one is shown.
    """

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            text = ROLE.sub(
                lambda found: f"`{found[2].rpartition('.')[2] if found[1] else found[2]}`",
                obj.docstring.value,
            )
            obj.docstring.value = CHOICES.sub(r"\1\2", text)

    def on_class_members(self, *, cls: Class, **kwargs: Any) -> None:
        for name, overloads in cls.overloads.items():
            if overloads and name not in cls.members:
                cls.set_member(name, next((one for one in overloads if one.has_docstring), overloads[0]))


def on_config(config: Any) -> Any:
    """Take the repository for the folder of the pages, which MkDocs itself refuses for its parent folders."""
    config.docs_dir = str(ROOT)
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the reference of Python names and of commands."""
    names = [name for name in distkern.__all__ if name[:1] != "_"]
    classes = "\n\n".join(f"::: distkern.{name}" for name in names)
    for path, content in {
        "api.md": f"# Python\n\n`import distkern as dk`\n\n{_overview(names)}\n\n{classes}\n",
        "commands.md": f"# Commands\n\n{_commands()}\n",
    }.items():
        files.append(File.generated(config, path, content=content))
    return files


def _overview(names: list[str]) -> str:
    """Return tables of what there is, the names that most programs begin with first."""
    tables = []
    for title, is_in in {
        "Functions": lambda name: name[0].islower(),
        "Estimators": lambda name: hasattr(getattr(distkern, name), "fit"),
        "Others": lambda name: name[0].isupper() and not hasattr(getattr(distkern, name), "fit"),
    }.items():
        lines = [f"| {title} | |", "|---|---|"]
        for name in sorted(filter(is_in, names), key=lambda name: (not name.startswith("Kernel"), name)):
            summary = (inspect.getdoc(getattr(distkern, name)) or "").split("\n\n")[0]
            summary = ROLE.sub(r"`\2`", " ".join(summary.split()))
            lines.append(f"| [`{name}`][distkern.{name}] | {summary} |")
        tables.append("\n".join(lines))
    return "\n\n".join(tables)


def _commands() -> str:
    """Return the help of every command as it is printed."""
    context = click.Context(group, info_name="distkern", terminal_width=80, **group.context_settings)
    parts = [f"```text\n{group.get_help(context)}\n```"]
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        shown = command.get_help(click.Context(command, context, name, terminal_width=80))
        parts.append(f"## distkern {name}\n\n```text\n{shown}\n```")
    return "\n\n".join(parts)


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Let links to other files lead to GitHub, and links to GitHub's copies of pages to the pages."""
    here = posixpath.dirname(page.file.src_uri)

    def is_page(path: str) -> bool:
        found = files.get_file_from_path(path)
        return found is not None and found.inclusion.is_included()

    def led(match: re.Match[str]) -> str:
        to, place = match["to"], match["place"] or ""
        for kind in ("blob", "tree", "raw"):
            known = to.removeprefix(GITHUB.format(kind))
            if known != to and is_page(known):
                return posixpath.relpath(known, here or ".") + place
        path = posixpath.normpath(posixpath.join(here, to))
        if ":" in to or is_page(path) or not (ROOT / path).exists():
            return match[0]
        return GITHUB.format("tree" if (ROOT / path).is_dir() else "blob") + path + place

    return LINK.sub(led, markdown)


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Let links of notebooks lead to pages, as MkDocs does for Markdown."""
    here = posixpath.dirname(page.file.src_uri)

    def led(match: re.Match[str]) -> str:
        found = files.get_file_from_path(posixpath.normpath(posixpath.join(here, match["to"])))
        return match[0] if found is None else found.url_relative_to(page.file)

    return SOURCE.sub(led, html)
