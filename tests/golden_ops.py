"""Operator tables of every family, execution provider and dtype: what is in a graph, and what has to be.

``python -m tests.golden_ops`` shows how today's graphs differ from the committed tables in ``tests/golden/ops/``;
``--write --reason TEXT`` writes them and puts the reason on record beside them. Nothing is run and torch is not needed.
"""

from __future__ import annotations

import argparse
import collections
import datetime
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx_ir as ir

from workbench.ep import execution_providers, get_ep
from workbench.models import SPECS, ModelSpec
from workbench.recipe import Recipe
from workbench.tasks import get_task
from workbench.types import FLOAT_DTYPES

FOLDER = Path(__file__).parent / "golden" / "ops"
REASONS = FOLDER / "REASONS.md"
SIZES: dict[str, Any] = {
    "vocab_size": 96, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 128,
}  # fmt: skip
OWN_SIZES = {
    "gpt2": {"vocab_size": 96, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 128},
    "bloom": {"vocab_size": 96, "hidden_size": 64, "n_layer": 2, "n_head": 4},
    "phi": SIZES | {"num_key_value_heads": 4},
    "gpt_neox": SIZES | {"num_key_value_heads": 4},
}  # fmt: skip
Table = dict[str, dict[str, dict[str, int]]]
"""execution provider -> dtype -> operator -> count."""


def words(spec: ModelSpec) -> dict[str, Any]:
    """A small config of the family with its exercise on top, in the words of a ``config.json``."""
    given = {"model_type": spec.model_type, **OWN_SIZES.get(spec.model_type, SIZES), **spec.exercise}
    return {word: value for word, value in given.items() if value is not None}


def table(spec: ModelSpec) -> Table:
    """Operators of a family's graphs."""
    recipe = Recipe(spec.module, spec.read(words(spec)), get_task(spec.task))
    found: Table = {}
    for name in execution_providers():
        ep = get_ep(name)
        for word, dtype in FLOAT_DTYPES.items():
            if dtype in ep.computes:
                found.setdefault(name, {})[word] = counts(recipe.package(ep, dtype).model)
    return found


def counts(model: ir.Model) -> dict[str, int]:
    """Nodes of the main graph by operator, in alphabetical order."""
    names = (f"{node.domain}.{node.op_type}" if node.domain else node.op_type for node in model.graph)
    return dict(sorted(collections.Counter(names).items()))


def committed(spec: ModelSpec) -> Table:
    """The table on record, empty for a family that has none."""
    path = FOLDER / f"{spec.model_type}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def differences(old: Table, new: Table) -> Iterator[str]:
    """A line per count that changed."""
    for name in [*new, *(n for n in old if n not in new)]:
        for word in {**old.get(name, {}), **new.get(name, {})}:
            before, after = old.get(name, {}).get(word, {}), new.get(name, {}).get(word, {})
            for op in sorted({**before, **after}):
                if before.get(op, 0) != after.get(op, 0):
                    yield f"{name} {word} {op}: {before.get(op, 0)} -> {after.get(op, 0)}"


def write(spec: ModelSpec, new: Table) -> None:
    """One line per provider and dtype, so that a diff is readable."""
    lines = []
    for name, by_dtype in new.items():
        rows = ",\n".join(f"  {json.dumps(word)}: {json.dumps(ops)}" for word, ops in by_dtype.items())
        lines.append(f" {json.dumps(name)}: {{\n{rows}\n }}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{spec.model_type}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def main() -> int:
    """Show, and write where a reason is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the tables")
    parser.add_argument("--reason", default="", help="why they change; goes on record")
    options = parser.parse_args()
    changed = 0
    for spec in SPECS:
        new = table(spec)
        lines = list(differences(committed(spec), new))
        changed += len(lines)
        print("".join(f"{spec.model_type}: {line}\n" for line in lines), end="")
        if options.write and lines and options.reason:
            write(spec, new)
    if changed and options.write and not options.reason:
        print("Say why these counts change: --reason TEXT. Nothing was written.", file=sys.stderr)
        return 2
    if changed and options.write:
        with REASONS.open("a", encoding="utf-8") as file:
            file.write(f"- {datetime.date.today()}: {options.reason} ({changed} counts)\n")
    print(f"{changed} counts differ.")
    return 0 if options.write or not changed else 1


if __name__ == "__main__":
    sys.exit(main())
