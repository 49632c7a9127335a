"""Graph diffs made by hand: small ones, a decoder of any size, and one full of nasty names."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

from workbench.analysis.diff.result import Change, Edge, Entry, Group, LayerRun, NodeInfo, Status

EVIL = "<script>alert('x')</script>"


@dataclasses.dataclass(frozen=True)
class HandMade:
    """The fields of a GraphDiff that pictures read."""

    labels: tuple[str, str]
    a: tuple[NodeInfo, ...]
    b: tuple[NodeInfo, ...]
    entries: tuple[Entry, ...]
    edges: tuple[Edge, ...]
    groups: tuple[Group, ...] = ()
    changes: tuple[Change, ...] = ()
    runs: tuple[LayerRun, ...] = ()
    method: str = "provenance"
    is_one: ClassVar[bool] = False

    def info(self, entry: Entry) -> NodeInfo:
        return self.a[entry.a or 0] if entry.b is None else self.b[entry.b]

    @property
    def counts(self) -> dict[Status, int]:
        found: dict[Status, int] = {"same": 0, "changed": 0, "removed": 0, "added": 0}
        for entry in self.entries:
            found[entry.status] += 1
        return found

    def __repr__(self) -> str:
        return f"HandMade({len(self.entries)} nodes)"


class Maker:
    """Adds nodes one after the other: ``node(op, scope, reads...)`` gives a number to read from."""

    def __init__(self) -> None:
        self.a: list[NodeInfo] = []
        self.b: list[NodeInfo] = []
        self.entries: list[Entry] = []
        self.edges: list[Edge] = []
        self.groups: list[Group] = []
        self.made: list[set[int]] = []

    def node(self, op: str, scope: str, *reads: int, status: Status = "same", changes: tuple[Change, ...] = (),
             **options: Any) -> int:  # fmt: skip
        number = len(self.entries)
        domain, _, op_type = op.rpartition(".")
        info = NodeInfo(
            options.pop("name", f"{scope}/{op_type}_{number}"), op_type, domain, scope=scope,
            inputs=tuple(f"v{i}" for i in reads), outputs=(f"v{number}",),
            types=options.pop("types", ("float32[B, S, 64]",)), **options,
        )  # fmt: skip
        sides = {"removed": {1}, "added": {2}}.get(status, {1, 2})
        a = b = None
        if 1 in sides:
            a = len(self.a)
            self.a.append(info)
        if 2 in sides:
            b = len(self.b)
            self.b.append(info)
        self.entries.append(Entry(a, b, status, changes))
        self.made.append(sides)
        for read in reads:
            self.edge(read, number)
        return number

    def edge(self, source: int, target: int) -> None:
        both = self.made[source] & self.made[target]
        for side in [0] if len(both) == 2 else sorted(both):
            self.edges.append(Edge(source, target, f"v{source}", side))

    def group(self, rule: str, scope: str, before: list[int], after: list[int]) -> None:
        for i in [*before, *after]:
            self.entries[i] = dataclasses.replace(self.entries[i], group=len(self.groups))
        self.groups.append(Group(rule, scope, tuple(before), tuple(after)))

    def diff(self, *runs: LayerRun, changes: tuple[Change, ...] = ()) -> HandMade:
        return HandMade(
            ("generic", "cpu"), tuple(self.a), tuple(self.b), tuple(self.entries), tuple(self.edges),
            tuple(self.groups), changes, runs,
        )  # fmt: skip


def layer(make: Maker, i: int, x: int, mask: int, rotary: tuple[int, int], changed: bool) -> int:
    """One layer of a decoder whose attention became one node."""
    at = f"model.layers.{i}"
    epsilon = (Change("attribute", "epsilon", "1e-05", "1e-06"),) if changed else ()
    norm = make.node(
        "RMSNormalization", f"{at}.input_layernorm", x, status="changed" if changed else "same", changes=epsilon,
        attributes=(("axis", "-1"), ("epsilon", "1e-06")),
    )  # fmt: skip
    attn = f"{at}.self_attn"
    gone = {"status": "removed"}
    q, k, v = (make.node("MatMul", f"{attn}.{p}_proj", norm, **gone) for p in "qkv")
    turned = [make.node("RotaryEmbedding", f"{attn}.rotary", p, *rotary, **gone) for p in (q, k)]
    old = make.node("Attention", attn, *turned, v, mask, **gone)
    packed = make.node("MatMul", f"{attn}.qkv_proj", norm, status="added", rules=("fuse/pack_qkv",))
    new = make.node("com.microsoft.GroupQueryAttention", attn, packed, *rotary, status="added", rules=("fuse/gqa",))
    out = make.node("MatMul", f"{attn}.o_proj", old, new)
    make.group("fuse/gqa fuse/pack_qkv", attn, [q, k, v, *turned, old], [packed, new])
    total = make.node("Add", at, x, out)
    norm2 = make.node("RMSNormalization", f"{at}.post_attention_layernorm", total)
    gate = make.node("MatMul", f"{at}.mlp.gate_proj", norm2)
    up = make.node("MatMul", f"{at}.mlp.up_proj", norm2)
    act = make.node("Swish", f"{at}.mlp", gate)
    both = make.node("Mul", f"{at}.mlp", act, up)
    down = make.node("MatMul", f"{at}.mlp.down_proj", both)
    return make.node("Add", at, total, down)


def decoder(layers: int = 4, odd: int | None = None) -> HandMade:
    """A decoder; layer ``odd`` also has another epsilon."""
    make = Maker()
    mask = make.node("ep_workbench.CausalMask", "model.mask")
    inside = make.node("Range", "", graph="function ep_workbench.CausalMask")
    make.node("Trilu", "", inside, graph="function ep_workbench.CausalMask")
    rotary = (make.node("Cos", "model.rotary_emb"), make.node("Sin", "model.rotary_emb"))
    x = make.node("Gather", "model.embed_tokens")
    for i in range(layers):
        x = layer(make, i, x, mask, rotary, i == odd)
    last = make.node("RMSNormalization", "model.norm", x)
    make.node("MatMul", "lm_head", last)
    alike = tuple(i for i in range(layers) if i != odd)
    return make.diff(LayerRun("model.layers", alike) if len(alike) > 1 else LayerRun("model.layers", (0,)))


def nasty() -> HandMade:
    """Script tags, 10 kB names, control characters, quotes, no name, a node that reads itself late."""
    make = Maker()
    one = make.node(EVIL, EVIL + ".sub", name=EVIL, types=(f"float32[{EVIL}]",))
    two = make.node("A" * 10_000, "s" * 10_000, one, name="n" * 10_000, status="removed")
    three = make.node('Quote"\'&\x00\x1b\u202e', "model.a\nb", one, two, name="", status="added",
                      attributes=((EVIL, EVIL), ("long", "z" * 10_000)))  # fmt: skip
    make.group(EVIL, "", [two], [three])
    changes = (Change("input", EVIL, "", "x" * 10_000),)
    return make.diff(changes=changes)


def knot() -> HandMade:
    """Folding ``a`` ties a knot: a.0 -> b -> a.1; and one wide row of forty."""
    make = Maker()
    first = make.node("Relu", "a.x")
    second = make.node("Sin", "b.y", first)
    third = make.node("Cos", "a.z", second, first)
    for i in range(40):
        make.node(f"Wide{i}", "", third)
    return make.diff()


def empty() -> HandMade:
    """No nodes at all."""
    return Maker().diff()


def single() -> HandMade:
    """One node without edges."""
    make = Maker()
    make.node("Identity", "")
    return make.diff()


ALL = {
    "decoder": lambda: decoder(5, odd=3),
    "long": lambda: decoder(12),
    "nasty": nasty,
    "knot": knot,
    "empty": empty,
    "single": single,
}
