"""``workbench diff A B``: two graphs, what they share and what differs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.shell import FAILED, check_can_write, console, emit, guarded, note, only_ours_on_stdout, step
from workbench.errors import SaveError

if TYPE_CHECKING:
    from rich.console import Console

    from workbench.analysis.diff import GraphDiff

SCHEMA = """
\b
JSON of --json (format ep-workbench.diff, format_version 1):
  labels, method   what A and B are called; matched by provenance or structure
  is_empty         whether nothing differs
  counts           {same, changed, removed, added}
  changes          [{what, where, before, after}] of graphs and packages
  groups           [{rule, scope, before: [{node, op_type}], after: [{node, op_type}]}]
  layer_runs       [{prefix, layers}]: layers that differ in the same way
  nodes            [{status, node, op_type, domain, graph, scope, rule, changes}] without those that are the same
  unread_weights, sampled_weights   names of weights whose contents were not, or only in parts, compared
"""

Graph = Annotated[str, typer.Argument(metavar="GRAPH", help="An .onnx file, or the folder of a package.")]


def diff(
    a: Graph,
    b: Graph,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write everything as JSON; - is stdout, alone.")
    ] = None,
    html_file: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page that works offline.")
    ] = None,
    structure: Annotated[
        bool, typer.Option("--structure", help="Match by structure alone, also where both graphs are ours.")
    ] = False,
    read_weights: Annotated[
        bool, typer.Option("--read-weights", help="Compare the whole content of every weight.")
    ] = False,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit status 1 when anything differs.")] = False,
    show_traceback: Annotated[
        bool, typer.Option("--traceback", envvar="WORKBENCH_TRACEBACK", help="Show where in the code an error arose.")
    ] = False,
) -> None:
    """Say what differs between two graphs: nodes, attributes, inputs, weights, and which rule made what of what."""
    to_stdout = json_file == Path("-")
    with guarded(show_traceback):
        _check_files(a, b, None if to_stdout else json_file, html_file)
        with only_ours_on_stdout():
            found = _compared(a, b, structure=structure, read_weights=read_weights)
            if html_file is not None:
                found.save_html(html_file)
                note(f"Wrote {html_file}")
        _say(found, json_file, to_stdout=to_stdout)
    if exit_code and not found.is_empty:
        raise typer.Exit(FAILED)


def _check_files(a: str, b: str, json_file: Path | None, html_file: Path | None) -> None:
    """Refuse what cannot be written, and what would be written over a graph that is compared or over each other."""
    if html_file == Path("-"):
        raise SaveError("A page cannot go to stdout; --html takes the name of a file.")
    taken = {os.path.realpath(graph): "a graph that is compared" for graph in (a, b)}
    for file, what in ((json_file, "what --json writes"), (html_file, "what --html writes")):
        check_can_write(file)
        if file is None:
            continue
        place = os.path.realpath(file)
        if place in taken:
            raise SaveError(f"Cannot write {file}: it is {taken[place]}. Choose another name.")
        taken[place] = what


def _compared(a: str, b: str, *, structure: bool, read_weights: bool) -> GraphDiff:
    from workbench.analysis.diff import diff as compare

    with step(f"Comparing {a} with {b}"):
        return compare(a, b, provenance=not structure, read_weights=read_weights)


def _say(found: GraphDiff, json_file: Path | None, *, to_stdout: bool) -> None:
    """The summary for people and JSON for programs; on stdout only one of them."""
    from workbench.cli.document import to_json

    text = to_json(found.to_dict()) if json_file is not None else ""
    _show(console(stderr=to_stdout), found)
    if to_stdout:
        emit(text)
    elif json_file is not None:
        from workbench.viz.figure import write_text

        write_text(json_file, text)
        note(f"Wrote {json_file}")


def _show(screen: Console, found: GraphDiff) -> None:
    for line in found.summary().lines:
        screen.print(line)
