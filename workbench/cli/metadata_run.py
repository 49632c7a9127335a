"""``workbench metadata run``: the workflow of a package run here, with what each step read and made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.shell import FAILED, console, emit, guarded
from workbench.errors import FeedsError

if TYPE_CHECKING:
    from workbench.interpret import WorkflowRun


def run(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="The folder of a package, or a document in it.")],
    prompt: Annotated[
        str | None, typer.Option("--prompt", metavar="TEXT", help="A text for the prompt's tokens.")
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input", metavar="NAME=VALUE", help="An input as JSON ([[5, 9]]) or a file (@FILE.npy); repeat it."
        ),
    ] = None,
    max_new_tokens: Annotated[int | None, typer.Option("--max-new-tokens", metavar="N", min=0, help="At most.")] = None,
    greedy: Annotated[bool, typer.Option("--greedy", help="The likeliest token, whatever the document says.")] = False,
    temperature: Annotated[
        float | None, typer.Option("--temperature", metavar="T", help="Draw, by logits / T.")
    ] = None,
    top_k: Annotated[int, typer.Option("--top-k", metavar="K", help="Draw from the K likeliest; 0: all.")] = 0,
    top_p: Annotated[
        float, typer.Option("--top-p", metavar="P", help="Draw from the likeliest with P together.")
    ] = 1.0,
    min_p: Annotated[
        float, typer.Option("--min-p", metavar="P", help="Only with this share of the likeliest's.")
    ] = 0.0,
    seed: Annotated[int, typer.Option("--seed", metavar="S", min=0, help="Of the draws.")] = 0,
    seconds: Annotated[float | None, typer.Option("--seconds", metavar="S", help="Stop after so long.")] = None,
    max_rounds: Annotated[int, typer.Option("--max-rounds", metavar="N", min=0, help="Of one loop, at most.")] = 4096,
    trace: Annotated[bool, typer.Option("--trace", help="Show what each step read and made.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout.")] = False,
    show_traceback: Annotated[
        bool, typer.Option("--traceback", envvar="WORKBENCH_TRACEBACK", help="Show where in the code an error arose.")
    ] = False,
) -> None:
    """Run the workflow of SOURCE on ONNX Runtime's CPU kernels. Exit status 1 where it does not come to its end."""
    with guarded(show_traceback):
        from workbench.interpret import Limits, Sampling, interpret

        drawn = temperature is not None or top_k > 0 or top_p != 1 or min_p != 0
        filters = Sampling(True, 1.0 if temperature is None else temperature, top_k, top_p, min_p) if drawn else None
        found = interpret(
            source, _inputs(inputs or []), prompt=prompt, max_new_tokens=max_new_tokens, seed=seed,
            sampling=Sampling() if greedy else filters, limits=Limits(max_rounds=max_rounds, seconds=seconds),
        )  # fmt: skip
        texts = _texts(source, found)
        if as_json:
            emit(_json(source, found, texts, trace))
        else:
            _say(found, texts, trace)
    if not found.ok:
        raise typer.Exit(FAILED)


def _inputs(given: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in map(_input, given):
        if name in found:
            raise FeedsError(f"--input {name} is given twice. Give one of them.")
        found[name] = value
    return found


def _input(word: str) -> tuple[str, Any]:
    import numpy as np

    name, sign, value = word.partition("=")
    if not sign or not name:
        raise FeedsError(f"--input takes NAME=VALUE; found {word[:60]!r}. Write rows=[[5, 9]], or rows=@FILE.npy.")
    try:
        return name, np.load(value[1:], allow_pickle=False) if value.startswith("@") else json.loads(value)
    except (ValueError, OSError, EOFError) as error:
        what = "no .npy file of numbers" if value.startswith("@") else "no JSON"
        raise FeedsError(f"--input {name}: {value[:60]!r} is {what} ({error}). Write [[5, 9]], or @FILE.npy.") from None


def _texts(source: Path, run: WorkflowRun) -> list[str]:
    """The published tokens as texts, where the package has a tokenizer."""
    file = (source if source.is_dir() else source.parent) / "tokenizer.json"
    if not run.tokens or not file.is_file():
        return []
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(file))
        return [tokenizer.decode(list(row)) for row in run.tokens]
    except Exception:  # the library raises bare Exceptions; the ids are there all the same
        return []


def _say(run: WorkflowRun, texts: list[str], trace: bool) -> None:
    from workbench.cli.tables import show

    out = console()
    if trace:
        show(out, "", list(run.trace.LINES), [[_cell(value) for value in row.values()] for row in run.trace.lines()])
    for number, row in enumerate(run.tokens):
        out.print(f"request {number}: {' '.join(map(str, row))}", soft_wrap=True)
        if number < len(texts):
            out.print(f"    {texts[number]!r}", soft_wrap=True)
    for found in run.diagnostics:
        out.print(str(found), soft_wrap=True)
    out.print(repr(run).splitlines()[0], soft_wrap=True)


def _cell(value: object) -> str:
    """What a table shows; a name may hold what a terminal would obey."""
    text = str(value)
    return text if text.isprintable() else repr(text)[1:-1]


def _json(source: Path, run: WorkflowRun, texts: list[str], trace: bool) -> str:
    from workbench.cli.document import to_json

    outputs = {
        name: [row.tolist() for row in value] if isinstance(value, tuple) else value.tolist()
        for name, value in run.outputs.items()
    }
    found = [
        {"severity": one.severity, "code": one.code, "step": one.step, "iteration": list(one.iteration),
         "value": one.value, "message": one.message, "hint": one.hint}
        for one in run.diagnostics
    ]  # fmt: skip
    return to_json({
        "source": str(source), "status": run.status, "sampling": run.sampling, "seed": run.seed,
        "tokens": [list(row) for row in run.tokens], "texts": texts, "outputs": outputs, "diagnostics": found,
        "records": len(run.trace), "trace": run.trace.rows() if trace else None,
    })  # fmt: skip
