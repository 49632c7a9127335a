"""A diff in a few lines: what each rule made of what, how often; which layers are alike; what else changed."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from workbench.analysis.diff.result import Change, Group, LayerRun
from workbench.analysis.markup import block, escape, plural, table

if TYPE_CHECKING:
    import pandas as pd

    from workbench.analysis.diff.graph_diff import GraphDiff

COLUMNS = ["what", "count", "before", "after"]
_SHOWN = 12  # lines of a kind in text; frames and documents have all


@dataclasses.dataclass(frozen=True)
class Step:
    """Groups of one rule that took the same operators and put the same there."""

    rule: str
    count: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.rule} x {self.count}: {self.before or 'nothing'} -> {self.after or 'nothing'}"


@dataclasses.dataclass(frozen=True)
class DiffSummary:
    """``steps`` are groups counted by rule, the most frequent first; ``unexplained`` are operators that went and
    came without one; ``changed`` counts changes of matched nodes by kind."""

    title: str
    steps: tuple[Step, ...]
    changed: tuple[Step, ...]
    unexplained: tuple[Step, ...]
    runs: tuple[LayerRun, ...]
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """The whole summary as text, a line each; long lists are cut and say so."""
        found = [self.title]
        for head, items in (
            ("explained", self.steps), ("changed", self.changed), ("not explained", self.unexplained),
            ("layers", tuple(map(_run, self.runs))), ("graph", self.changes), ("note", self.notes),
        ):  # fmt: skip
            found += [f"  {head}: {_one_line(item)}" for item in items[:_SHOWN]]
            if len(items) > _SHOWN:
                found.append(f"  {head}: ... and {len(items) - _SHOWN} more")
        return tuple(found)

    def to_frame(self) -> pd.DataFrame:
        """A row per counted step: what, count, before, after."""
        import pandas as pd

        return pd.DataFrame(self._rows(), columns=COLUMNS)

    def _rows(self) -> list[list[Any]]:
        steps = [[s.rule, s.count, s.before, s.after] for s in self.steps]
        steps += [[f"changed {s.rule}", s.count, s.before, s.after] for s in self.changed]
        steps += [[f"not explained: {s.rule}", s.count, s.before, s.after] for s in self.unexplained]
        return steps + [[f"graph {c.what} {c.where}", 1, c.before, c.after] for c in self.changes]

    def __repr__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        rows = [[_cut(cell) if isinstance(cell, str) else cell for cell in row] for row in self._rows()[:200]]
        notes = [f"layers: {_run(run)}" for run in self.runs[:_SHOWN]] + list(self.notes)
        tail = "".join(f"<li>{escape(_one_line(note))}</li>" for note in notes)
        more = len(self._rows()) - len(rows)
        tail += f"<li>... and {more} more rows</li>" if more else ""
        body = table(COLUMNS, rows, empty="Nothing differs.")
        return block(self.title, body, f"<ul>{tail}</ul>" if tail else "")


def summarize(diff: GraphDiff) -> DiffSummary:
    """Count what a diff holds."""
    counts = ", ".join(f"{n:,} {status}" for status, n in diff.counts.items())
    title = f"{names(diff.labels)}: {counts} (matched by {diff.method})"
    steps = collections.Counter((g.rule, *_ops(diff, g)) for g in diff.groups)
    rest = collections.Counter((e.status, diff.info(e).op) for e in diff.unexplained)
    kinds: collections.Counter[tuple[str, str, str]] = collections.Counter()
    for entry in diff.entries:
        kinds.update((f"{diff.info(entry).op} {_what(c)}", *_texts(c)) for c in entry.changes)
    return DiffSummary(
        title,
        _steps(steps),
        _steps(kinds),
        tuple(Step(status, n, *((op, "") if status == "removed" else ("", op))) for (status, op), n in _most(rest)),
        () if diff.is_empty else diff.runs,
        diff.changes,
        _notes(diff),
    )


def names(labels: tuple[str, str]) -> str:
    """``generic -> dml``, whatever the labels are."""
    return " -> ".join(_cut(" ".join(label.split()), 60) for label in labels)


def _texts(change: Change) -> tuple[str, str]:
    """Values of settings are counted by what they are; names of values would all differ."""
    if change.what != "input":
        return change.before, change.after
    return ("a value" if change.before else ""), ("another" if change.before else "a value") if change.after else ""


def _what(change: Change) -> str:
    return change.where if change.where.startswith(change.what) else f"{change.what} {change.where}"


def _steps(counts: collections.Counter[tuple[str, str, str]]) -> tuple[Step, ...]:
    return tuple(Step(rule, n, before, after) for (rule, before, after), n in _most(counts))


def _most(counts: collections.Counter[Any]) -> list[tuple[Any, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _ops(diff: GraphDiff, group: Group) -> tuple[str, str]:
    """``3 MatMul, 2 RotaryEmbedding, Attention``."""
    return op_list(diff.info(diff.entries[i]).op for i in group.before), op_list(
        diff.info(diff.entries[i]).op for i in group.after
    )


def op_list(ops: Iterable[str]) -> str:
    """Operators in order of appearance, with how many there are of each."""
    return ", ".join(op if n == 1 else f"{n} {op}" for op, n in collections.Counter(ops).items())


def _run(run: LayerRun) -> str:
    spans: list[list[int]] = []
    for index in run.indices:
        if spans and index == spans[-1][1] + 1:
            spans[-1][1] = index
        else:
            spans.append([index, index])
    text = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)
    return f"{run.prefix} {text} {'alike' if len(run.indices) > 1 else 'on its own'}"


def _notes(diff: GraphDiff) -> tuple[str, ...]:
    found = []
    if diff.unread:
        found.append(f"contents of {plural(len(diff.unread), 'weight')} were not compared (lazy or without data)")
    if diff.sampled:
        found.append(f"contents of {plural(len(diff.sampled), 'weight')} were compared by a sample")
    return tuple(found)


def _one_line(item: object) -> str:
    return _cut(" ".join(str(item).split()))


def _cut(text: str, longest: int = 400) -> str:
    return text if len(text) <= longest else f"{text[: longest - 3]}..."
