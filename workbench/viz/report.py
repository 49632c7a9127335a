"""A comparison as one HTML file that opens anywhere, offline: for issues, reviews and continuous
integration.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from workbench.analysis.markup import escape, plural, table
from workbench.analysis.misses import MissTable, fold_names
from workbench.analysis.tables import FusionTable, OpTable
from workbench.types import dtype_word
from workbench.viz.page import image, wide

if TYPE_CHECKING:
    from workbench.analysis.parity_report import ParityReport

GENERIC = "generic"


def head(comparison: Any, parity: ParityReport | None) -> tuple[str, str]:
    """Title and introduction of a comparison's page: the verdict and the sizes."""
    return f"{_name(comparison)}: one model side by side", _intro(comparison.ops(), parity)


def sections(comparison: Any, parity: ParityReport | None = None) -> list[tuple[str, str]]:
    """Heading and HTML of everything there is to say of a comparison."""
    ops, fusions, misses = comparison.ops(), comparison.fusions(), comparison.misses()
    return [
        ("Execution providers", _providers(comparison, fusions, ops)),
        ("Operators", _operators(ops)),
        ("Fusions", _fusions(fusions)),
        ("Misses", _misses(misses)),
        ("Parity", _parity(parity)),
        ("How this was made", _context(parity)),
    ]


def _name(comparison: Any) -> str:
    return str(getattr(comparison, "name", "") or "Comparison")


def _intro(ops: OpTable, parity: ParityReport | None) -> str:
    sizes = ", ".join(f"{name} {h.total:,}" for name, h in ops.histograms.items())
    if parity is None:
        verdict = "Parity was not run."
    else:
        count = len(parity.execution_providers)
        verdict = f"Parity of {count} execution providers against {parity.reference}: {parity.conclusion}."
    mark = "verdict differs" if parity is not None and parity.verdict == "differs" else "verdict"
    return f'<p class="{mark}">{escape(verdict)}</p><p class="quiet">Nodes: {escape(sizes)}.</p>'


def _providers(comparison: Any, fusions: FusionTable, ops: OpTable) -> str:
    parts = [_facts(GENERIC, comparison.generic, "", ops, [], [])]
    for name in comparison:
        package = comparison[name]
        planned, skipped = fusions.planned.get(name, ()), fusions.skipped.get(name, ())
        parts.append(_facts(name, package, _dtype(package), ops, planned, skipped))
    return "".join(parts)


def _dtype(package: Any) -> str:
    dtype = getattr(package, "dtype", "")
    return dtype_word(dtype) if isinstance(dtype, ir.DataType) else str(dtype)


def _facts(
    name: str,
    package: Any,
    dtype: str,
    ops: OpTable,
    planned: Iterable[tuple[str, str]],
    skipped: Iterable[tuple[str, str]],
) -> str:
    histogram = ops.histograms.get(name)
    facts = [dtype] if dtype else []
    facts += [plural(histogram.total, "node")] if histogram else []
    body = f'<h3>{escape(name)} <span class="quiet">{escape(", ".join(facts))}</span></h3>'
    rows = [(rule, "planned", why) for rule, why in planned] + [(rule, "not planned", why) for rule, why in skipped]
    if rows:
        body += wide(table(["rule", "plan", "because"], rows))
    elif name != GENERIC:
        body += '<p class="quiet">No rules were planned.</p>'
    return body + _diagnostics(package) + _inputs_outputs(package)


def _diagnostics(package: Any) -> str:
    found = [str(diagnostic) for diagnostic in getattr(package, "diagnostics", ())]
    return f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in found)}</ul>" if found else ""


def _inputs_outputs(package: Any) -> str:
    models = _models(package)
    columns = ["direction", "name", "dtype", "shape", "values"]
    if len(models) == 1:
        rows = _values(next(iter(models.values())))
    else:
        columns = ["model", *columns]
        rows = [[role, *row] for role, model in models.items() for row in _values(model)]
    return f"<details><summary>Inputs and outputs</summary>{wide(table(columns, rows))}</details>" if rows else ""


def _models(package: Any) -> Mapping[str, ir.Model]:
    if isinstance(package, ir.Model):
        return {"": package}
    if isinstance(package, Mapping):
        return package
    return {"": package.model} if isinstance(getattr(package, "model", None), ir.Model) else {}


def _values(model: ir.Model) -> list[list[object]]:
    """Inputs and outputs; the caches of all layers share a row."""
    groups: dict[tuple[str, str, str, str], list[str]] = {}
    for direction, values in (("input", model.graph.inputs), ("output", model.graph.outputs)):
        for value in values:
            name = value.name or ""
            kind = "".join("*" if c.isdigit() else c for c in name)
            dtype = dtype_word(value.dtype) if value.dtype is not None else "?"
            key = (direction, kind.replace("**", "*"), dtype, _shape(value))
            groups.setdefault(key, []).append(name)
    return [
        [direction, fold_names(names), dtype, shape, len(names)]
        for (direction, _, dtype, shape), names in groups.items()
    ]


def _shape(value: ir.Value) -> str:
    if value.shape is None:
        return "?"
    sides = ("?" if side is None else str(side) for side in map(_side, value.shape))
    return f"[{', '.join(sides)}]"


def _side(side: Any) -> Any:
    return side if isinstance(side, int) else getattr(side, "value", side)


def _operators(ops: OpTable) -> str:
    return image(ops.plot()) + wide(ops._repr_html_())


def _fusions(fusions: FusionTable) -> str:
    return image(fusions.plot()) + wide(fusions._repr_html_())


def _misses(misses: MissTable) -> str:
    picture = image(misses.plot()) if misses.rows else ""
    return picture + wide(misses.summary()._repr_html_())


def _parity(parity: ParityReport | None) -> str:
    if parity is None:
        return "<p>Parity was not run: no numbers, so nothing is claimed about them.</p>"
    legend = (
        "<p class='quiet'><code>ep-kernels</code>: the provider's own kernels ran. <code>graph-on-cpu</code>: its "
        "graph ran on CPU kernels, which shows that the graph is right and says nothing about its kernels.</p>"
    )
    pictures = image(parity.plot("position")) + image(parity.plot("scatter"))
    return legend + wide(parity._repr_html_()) + pictures


def _context(parity: ParityReport | None) -> str:
    from workbench import __version__

    rows: list[list[object]] = [["ep-workbench", __version__]]
    if parity is not None:
        executors = dict.fromkeys(f"{r.executor} ({r.label})" for r in parity.rows)
        limits = dict.fromkeys(f"{r.dtype}: {r.tolerance.atol:g} ({r.tolerance.reason})" for r in parity.rows)
        rows += [[name, version] for name, version in parity.versions.items() if name != "ep-workbench"]
        rows += [["reference", parity.reference], ["seed", str(parity.seed)], ["prompts", "; ".join(parity.prompts)]]
        rows += [["executors", ", ".join(executors)], ["tolerances", "; ".join(limits)]]
        rows += [[f"session option {name}", value] for name, value in parity.session_options.items()]
    return wide(table(["what", "value"], rows))
