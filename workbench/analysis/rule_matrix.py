"""Which rule changed what, where: execution providers across the parts of a model, layers that went alike folded."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any

from workbench.analysis.layers import ranges
from workbench.analysis.markup import block, plural, table

if TYPE_CHECKING:
    import pandas as pd

    from workbench.widgets.ep_matrix import EpMatrix

FOLD, INLINE = "fold", "inline"
"""What happens to nodes without any rule: gone without a replacement, and come from the body of a called function."""

COLUMNS = ["execution_provider", "place", "layer", "rule", "made", "replaced", "generic_node", "node"]
_WORDS = {FOLD: "−", INLINE: "+"}
_HEAD = "Nodes made from generic nodes, by rule"
Ops = tuple[tuple[str, int], ...]


@dataclasses.dataclass(frozen=True)
class Mark:
    """What one rule, or rules one after the other (``fuse/gqa fuse/pack_qkv``), did in one place.

    ``made`` nodes stand there now; ``replaced`` generic nodes went for them, those of a neighbouring layer included
    (the sum before a norm belongs to the layer before). What layers share counts where it stood: there ``made`` may
    be 0. ``ops_made`` and ``ops_replaced`` count by operator.
    """

    rule: str
    made: int
    replaced: int
    ops_made: Ops = ()
    ops_replaced: Ops = ()

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules by themselves, in the order in which they ran."""
        return tuple(self.rule.split())

    @property
    def title(self) -> str:
        """``fuse/gqa, then fuse/pack_qkv``."""
        return ", then ".join(self.rules)

    @property
    def sentence(self) -> str:
        """``fuse/gqa made 2 nodes (MatMul, Attention) from 3 (...)``, without a place."""
        made, gone = _listed(self.ops_made), _listed(self.ops_replaced)
        if self.rule == FOLD:
            return f"{plural(self.replaced, 'node')}{gone} went: folded, merged with a twin, or read by nobody"
        if self.rule == INLINE:
            source = f" of {plural(self.replaced, 'call')}{gone}" if self.replaced else ""
            return f"{plural(self.made, 'node')}{made} came from inlined bodies{source}"
        if not self.made:
            return f"{self.title} took away {plural(self.replaced, 'node')}{gone} that layers shared"
        return f"{self.title} made {plural(self.made, 'node')}{made} from {self.replaced:,}{gone}"


@dataclasses.dataclass(frozen=True)
class Place:
    """A part of the model (``embed``), or layers of a stack that went alike for every execution provider.

    ``scope`` is a dotted module path: that of the part, or of the first of the layers; empty for ``outside``.
    """

    name: str
    scope: str = ""
    stack: str = ""
    layers: tuple[int, ...] = ()

    @property
    def where(self) -> str:
        """``in each of layers 1-29``, ``in layers.0``, ``outside of any part``."""
        if len(self.layers) > 1:
            return f"in each of {self.name.rsplit('.', 1)[0]} {ranges(self.layers)}"
        return f"in {self.name}" if self.name != "outside" else "outside of any part"


@dataclasses.dataclass(frozen=True)
class Cell:
    """One place of one execution provider's graph; numbers are those of each layer where the place has several."""

    execution_provider: str
    place: str
    generic_nodes: int
    nodes: int
    marks: tuple[Mark, ...] = ()

    @property
    def kept(self) -> int:
        """Generic nodes that stand there unchanged."""
        return self.nodes - sum(mark.made for mark in self.marks)


@dataclasses.dataclass(frozen=True)
class RuleMatrix:
    """Execution provider by place: what each rule made and replaced there.

    Counted from the graphs alone: node metadata of the main graphs, against the generic graph that each came from.
    """

    execution_providers: tuple[str, ...]
    places: tuple[Place, ...]
    cells: tuple[Cell, ...]

    def cell(self, execution_provider: str, place: str) -> Cell:
        """The cell of a provider and a place, by their names."""
        return self._cells[execution_provider, place]

    def place(self, name: str) -> Place:
        """A place by its name."""
        return self._places[name]

    @functools.cached_property
    def _cells(self) -> dict[tuple[str, str], Cell]:
        return {(cell.execution_provider, cell.place): cell for cell in self.cells}

    @functools.cached_property
    def _places(self) -> dict[str, Place]:
        return {place.name: place for place in self.places}

    def rules(self) -> tuple[str, ...]:
        """Every entry of ``Mark.rule``: rewrites by stage, then what happens without a rule."""
        found = dict.fromkeys(mark.rule for cell in self.cells for mark in cell.marks)
        order = {"fuse": 0, "lower": 1, INLINE: 3, FOLD: 4}
        return tuple(sorted(found, key=lambda rule: order.get(rule.split()[-1].split("/")[0], 2)))

    def letters(self) -> dict[str, str]:
        """A letter of its own for each of :meth:`rules`: pictures show it beside the colour."""
        letters: dict[str, str] = {}
        for rule in self.rules():
            letters[rule] = _WORDS.get(rule) or _letter(rule, set(letters.values()))
        return letters

    def count(self, execution_provider: str, rule: str) -> tuple[int, int]:
        """(made, replaced) over all places, each layer counted."""
        made = replaced = 0
        for place in self.places:
            for mark in self.cell(execution_provider, place.name).marks:
                if mark.rule == rule:
                    times = max(1, len(place.layers))
                    made, replaced = made + times * mark.made, replaced + times * mark.replaced
        return made, replaced

    def sentences(self, execution_provider: str, place: str) -> tuple[str, ...]:
        """What happened in a cell, a sentence each."""
        where = self.place(place).where
        return tuple(f"{mark.sentence}, {where}" for mark in self.cell(execution_provider, place).marks)

    def to_frame(self) -> pd.DataFrame:
        """A row per provider, place and rule; ``layer`` lists the layers, the counts are for each of them."""
        import pandas as pd

        rows = [
            [c.execution_provider, c.place, ranges(self.place(c.place).layers), m.rule, m.made, m.replaced,
             c.generic_nodes, c.nodes]
            for c in self.cells for m in c.marks
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=COLUMNS)

    def widget(self) -> EpMatrix:
        """The matrix to look into, in a notebook."""
        from workbench.widgets.ep_matrix import EpMatrix

        return EpMatrix(self)

    def __repr__(self) -> str:
        lines = [
            f"  {c.execution_provider} {c.place}: {c.generic_nodes} -> {c.nodes} nodes; {_marks(c)}"
            for c in self.cells if c.marks
        ]  # fmt: skip
        sizes = f"{plural(len(self.execution_providers), 'execution provider')}, {plural(len(self.places), 'place')}"
        return "\n".join([f"RuleMatrix({sizes}; made<-replaced per layer)", *(lines or ["  no node changed"])])

    def _repr_html_(self) -> str:
        heads = [p.name + (f" (x{len(p.layers)})" if len(p.layers) > 1 else "") for p in self.places]
        rows = [
            [name, *(_marks(self.cell(name, p.name)) or "as in the generic graph" for p in self.places)]
            for name in self.execution_providers
        ]
        return block(_HEAD, table(["execution_provider", *heads], rows, empty="No execution provider to show."))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from workbench.viz.rule_matrix import matrix_svg

        return {"text/plain": repr(self), "image/svg+xml": matrix_svg(self)}


def _marks(cell: Cell) -> str:
    return ", ".join(f"{m.title} {m.made}<-{m.replaced}" for m in cell.marks)


def _listed(ops: Ops) -> str:
    """`` (MatMul 2, Add)``, at most four of them."""
    shown = [op if n == 1 else f"{op} {n}" for op, n in ops[:4]]
    return f" ({', '.join([*shown, '...'] if len(ops) > 4 else shown)})" if ops else ""


def _letter(rule: str, taken: set[str]) -> str:
    name = rule.split()[-1].split("/")[-1].upper()
    choices = [c for c in name if c.isalpha()] + [chr(c) for c in range(ord("A"), ord("Z") + 1)]
    free = (c for c in choices if c not in taken)
    return next(free, f"{len(taken)}")
