"""The examples of README and docs/: what Python imports is there, and each command line is one that we understand."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
from pathlib import Path

import pytest
import typer

REPO = Path(__file__).resolve().parent.parent
PAGES = sorted([REPO / "README.md", *(REPO / "docs").rglob("*.md")])


def blocks(page: Path, languages: str) -> list[str]:
    return re.findall(rf"^```(?:{languages})\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


def missing(source: str) -> list[str]:
    """What a block of Python takes from the package that is not in it."""
    taken = [
        (node.module, alias.name)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "workbench"
        for alias in node.names
    ]
    return [f"{module}.{name}" for module, name in taken if not hasattr(importlib.import_module(module), name)]


def command_lines(page: Path) -> list[str]:
    lines = "".join(blocks(page, "sh|text")).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.startswith("workbench ")]


def parse(line: str) -> None:
    """Read a command line as the command does, and run nothing.

    Raises:
        click.UsageError: a verb, an option or a number of arguments that there is not.
    """
    from workbench.cli.app import app

    command, context, words = typer.main.get_command(app), None, shlex.split(line, comments=True)[1:]
    while hasattr(command, "commands"):
        context = command.context_class(command, parent=context)
        _, command, words = command.resolve_command(context, words)
    command.make_context(command.name, words, parent=context)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python_takes_what_is_there(page: Path) -> None:
    assert [name for block in blocks(page, "python") for name in missing(block)] == []


@pytest.mark.parametrize("page", [page for page in PAGES if command_lines(page)], ids=lambda page: page.stem)
def test_command_lines_are_understood(page: Path) -> None:
    for line in command_lines(page):
        parse(line)


def test_what_is_wrong_is_found() -> None:
    assert missing("from workbench import build, bild\nfrom pathlib import nothing") == ["workbench.bild"]
    for line in ("workbench lnt out", "workbench lint out --wrong", "workbench metadata diff one"):
        with pytest.raises(Exception, match=r"(?i)no such|missing parameter: b"):
            parse(line)
