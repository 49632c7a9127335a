"""``workbench metadata``: documents of inference metadata validated, shown, converted, compared, named, run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.metadata_run import run
from workbench.cli.shell import FAILED, check_can_write, console, emit, guarded, note

if TYPE_CHECKING:
    from workbench.metadata import Diagnostics

SCHEMA = """
\b
metadata validate SOURCE [--dialect D] [--package-root DIR] [--no-files] [--ports] [--strict] [--json]
metadata show SOURCE [--dialect D] [--section NAME] [--package-root DIR] [--json]
metadata convert SOURCE --to D [--schema-version V] [--plain] [--strict] [-o FILE] [--json]
metadata import FOLDER [--allow-lossy] [--output FILE | --save [--overwrite]] [--json]
metadata diff A B [--dialect D] [--json]
metadata identity SOURCE [--dialect D] [--expect HASH] [--json]
metadata run SOURCE [--prompt TEXT] [--input NAME=VALUE] [--max-new-tokens N] [--greedy] [--temperature T]
             [--top-k K] [--top-p P] [--min-p P] [--seed S] [--seconds S] [--max-rounds N] [--trace] [--json]

SOURCE is a document (.yaml, .yml, .json) or the folder of a package. Exit status 0: yes; 1: no, or it cannot be read;
2: wrong usage.
"""
SECTIONS = ("values", "state", "capabilities", "decoder", "cache", "islands", "ports")

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Validate, show, convert, compare and run inference metadata.",
    epilog=SCHEMA,
)
Source = Annotated[Path, typer.Argument(metavar="SOURCE", help="A document, or the folder of a package.")]
Dialect = Annotated[
    str, typer.Option("--dialect", metavar="D", help="pr828, v1, or auto: what the document looks like.")
]
Root = Annotated[
    Path | None,
    typer.Option(
        "--package-root",
        metavar="DIR",
        exists=True,
        file_okay=False,
        help="Look for files here; without it in SOURCE, if it is a folder.",
    ),  # fmt: skip
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on stdout.")]
Traceback = Annotated[
    bool, typer.Option("--traceback", envvar="WORKBENCH_TRACEBACK", help="Show where in the code an error arose.")
]


@app.command(
    epilog="JSON: {source, dialect, ok, errors, warnings, diagnostics [{severity, stage, code, rule, line, path, "
    "message, hint}], ports {ok, rows} or null}."
)
def validate(
    source: Source,
    dialect: Dialect = "auto",
    package_root: Root = None,
    no_files: Annotated[bool, typer.Option("--no-files", help="Do not look for the files that are named.")] = False,
    ports: Annotated[bool, typer.Option("--ports", help="Hold the ports against the ONNX graphs as well.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings fail as well.")] = False,
    as_json: AsJson = False,
    show_traceback: Traceback = False,
) -> None:
    """Name every rule that SOURCE breaks, where it breaks it. Exit status 1 where it breaks one."""
    with guarded(show_traceback):
        from workbench.metadata import validate as check

        root = None if no_files else _root(source, package_root)
        spoken = _dialect(source, dialect)
        found = check(source, dialect=spoken, package_root=root)
        report = _ports(source, spoken, package_root) if ports and not _unreadable(found) else None
        if as_json:
            emit(_json(_validation(source, spoken, found, report)))
        else:
            _say_findings(source, spoken, found)
            if report is not None:
                _table(report)
        failed = not found.ok or (strict and len(found) > 0) or (report is not None and not report.ok)
    if failed:
        raise typer.Exit(FAILED)


@app.command(epilog="JSON: {source, dialect, identity, SECTION: {summary, rows}}.")
def show(
    source: Source,
    dialect: Dialect = "auto",
    section: Annotated[
        list[str] | None,
        typer.Option(
            "--section", metavar="NAME", help=f"One of {', '.join(SECTIONS)}; repeat it. Without: all but ports."
        ),
    ] = None,
    package_root: Root = None,
    as_json: AsJson = False,
    show_traceback: Traceback = False,
) -> None:
    """Show the values, state, capabilities, decoder, cache facts and predicted islands of SOURCE."""
    for name in section or ():
        if name not in SECTIONS:
            raise typer.BadParameter(f"{name!r} is none of {', '.join(SECTIONS)}.", param_hint="--section")
    with guarded(show_traceback):
        from workbench.metadata import semantic_identity

        spoken = _dialect(source, dialect)
        results = _analyses(source, spoken, section or list(SECTIONS[:-1]), package_root)
        identity = semantic_identity(source, dialect=spoken)
        if as_json:
            facts = {
                name: None if result is None else {"summary": repr(result), "rows": result.rows()}
                for name, result in results.items()
            }
            emit(_json({"source": str(source), "dialect": spoken, "identity": identity, **facts}))
            return
        out = console()
        out.print(f"{source} ({spoken})")
        out.print(identity)
        for name, result in results.items():
            if result is None:
                out.print(f"\n{name}: none (it needs exactly one component with token and logits roles)")
            else:
                _table(result)


@app.command(
    epilog="JSON: {source, from, to, schema_version, kept, unsaid, remarks [{kind, path, message}], document}."
)
def convert(
    source: Source,
    to: Annotated[str, typer.Option("--to", metavar="D", help="The dialect to write: v1 or pr828.")],
    schema_version: Annotated[
        str | None,
        typer.Option("--schema-version", metavar="V", help="v1.0 to v1.8; without it the lowest that can say it."),
    ] = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="Keep nothing for the way back beside what the dialect can say.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Fail where something cannot be said.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write here, .json as JSON; without it YAML on stdout."),
    ] = None,
    as_json: AsJson = False,
    show_traceback: Traceback = False,
) -> None:
    """Write SOURCE in the other dialect, and say what goes over differently or not at all."""
    with guarded(show_traceback):
        from workbench.metadata import convert as turn

        check_can_write(output)
        made = turn(source, to, schema_version=schema_version, keep=not plain)
        if output is not None:
            from workbench.viz.figure import write_atomic

            text = made.to_json() if output.suffix == ".json" else made.to_yaml()
            write_atomic(output, text.encode("utf-8"))
        if as_json:
            emit(_json(_conversion(source, made)))
        elif output is None:
            emit(made.to_yaml())
        note(f"{source}: {made!r}")
        for remark in made.remarks:
            if remark.kind in ("unsaid", "added"):
                note(f"  {remark}")
        failed = strict and bool(made.unsaid)
    if failed:
        raise typer.Exit(FAILED)


@app.command(epilog="JSON: {a, b, equal, same_identity, identities, changes [{kind, section, path, before, after}]}.")
def diff(
    a: Annotated[Path, typer.Argument(metavar="A", help="A document, or the folder of a package.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="The same.")],
    dialect: Dialect = "auto",
    as_json: AsJson = False,
    show_traceback: Traceback = False,
) -> None:
    """Say what B says and A does not, and the other way round. Exit status 1 where they differ."""
    with guarded(show_traceback):
        from workbench.metadata import diff as compare

        found = compare(a, b, dialects=(_dialect(a, dialect), _dialect(b, dialect)))
        if as_json:
            facts = {"a": str(a), "b": str(b), "equal": found.is_empty, "same_identity": found.same_identity}
            emit(_json({**facts, "identities": list(found.identities), "changes": found.rows()}))
        else:
            console().print(repr(found))
            for change in found.changes:
                console().print(f"  {change}", soft_wrap=True)
    if not found.is_empty:
        raise typer.Exit(FAILED)


@app.command(epilog="JSON: {source, dialect, identity, expected}.")
def identity(
    source: Source,
    dialect: Dialect = "auto",
    expect: Annotated[
        str | None, typer.Option("--expect", metavar="HASH", help="Exit status 1 where it is another one.")
    ] = None,
    as_json: AsJson = False,
    show_traceback: Traceback = False,
) -> None:
    """Print the hash of what SOURCE says, whatever its order of keys or its syntax."""
    with guarded(show_traceback):
        from workbench.metadata import semantic_identity

        spoken = _dialect(source, dialect)
        found = semantic_identity(source, dialect=spoken)
        same = expect is None or expect in (found, found.rsplit(":", 1)[1])
        if as_json:
            emit(_json({"source": str(source), "dialect": spoken, "identity": found, "expected": same}))
        else:
            emit(f"{found}\n")
        if not same:
            note(f"Expected {expect}.")
    if not same:
        raise typer.Exit(FAILED)


app.command(
    epilog="JSON: {source, status, sampling, seed, tokens, texts, outputs, diagnostics [{severity, code, step, "
    "iteration, value, message, hint}], records, trace or null}."
)(run)


# --- what the verbs share -------------------------------------------------------------------------------
def _dialect(source: Path, asked: str) -> str:
    from workbench.metadata import dialect_of, load

    return dialect_of(load(source).data) if asked == "auto" else asked


def _root(source: Path, package_root: Path | None) -> Path | None:
    return package_root or (source if source.is_dir() else None)


def _unreadable(found: Diagnostics) -> bool:
    return any(one.stage == "parse" for one in found.errors)


def _ports(source: Path, dialect: str, package_root: Path | None) -> Any:
    from workbench.metadata import check_ports

    return check_ports(source, package_root, dialect=dialect)


def _analyses(source: Path, dialect: str, names: list[str], package_root: Path | None) -> dict[str, Any]:
    from workbench import metadata

    makers = {
        "values": metadata.value_table, "state": metadata.state_lifetimes,
        "capabilities": metadata.derived_capabilities, "decoder": metadata.decoder_io,
        "cache": metadata.cache_dependencies, "islands": metadata.predicted_islands,
    }  # fmt: skip
    context = metadata.opened(source, dialect)
    return {
        name: _ports(source, dialect, package_root) if name == "ports" else makers[name](context)
        for name in SECTIONS
        if name in names
    }


def _validation(source: Path, dialect: str, found: Diagnostics, report: Any) -> dict[str, Any]:
    rows = found.to_frame().to_dict(orient="records") if found else []
    return {
        "source": str(source), "dialect": dialect, "ok": found.ok, "errors": len(found.errors),
        "warnings": len(found) - len(found.errors),
        "diagnostics": [{**row, "line": row["line"] if row["line"] != "" else None} for row in rows],
        "ports": None if report is None else {"ok": report.ok, "rows": report.rows()},
    }  # fmt: skip


def _conversion(source: Path, made: Any) -> dict[str, Any]:
    remarks = [{"kind": r.kind, "path": r.where, "message": r.message} for r in made.remarks]
    return {
        "source": str(source), "from": made.source, "to": made.target, "schema_version": made.version,
        "kept": made.kept, "unsaid": len(made.unsaid), "remarks": remarks, "document": made.data,
    }  # fmt: skip


def _say_findings(source: Path, dialect: str, found: Diagnostics) -> None:
    """One line a finding, the way compilers do: file, line, severity, code."""
    out = console()
    for one in found:
        line = f":{one.line}" if one.line else ""
        out.print(f"{source}{line}: {one.severity} {one.code}: {one.message}", soft_wrap=True)
        where = f"    at {one.where}" if one.where else ""
        hint = f"    hint: {one.hint}" if one.hint else ""
        for text in filter(None, (where, hint)):
            out.print(text, soft_wrap=True)
    warnings = len(found) - len(found.errors)
    verdict = "valid" if found.ok else _count(len(found.errors), "error")
    out.print(f"{source} ({dialect}): {verdict}" + (f", {_count(warnings, 'warning')}" if warnings else ""))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _table(result: Any) -> None:
    from workbench.cli.tables import show as show_table

    columns = result.BRIEF or result.COLUMNS
    rows = [[_cell(row[name]) for name in columns] for row in result.rows()]
    console().print(repr(result), soft_wrap=True)
    if rows:
        show_table(console(), "", columns, rows)


def _cell(value: Any) -> str:
    """What a table shows; a name may hold what a terminal would obey."""
    text = "-" if value in (None, "") else str(value)
    return text if text.isprintable() else repr(text)[1:-1]


def _json(document: dict[str, Any]) -> str:
    from workbench.cli.document import to_json

    return to_json(document)
