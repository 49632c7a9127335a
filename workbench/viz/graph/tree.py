"""The tree of boxes: modules, runs of layers that differ alike, bodies of functions, and groups that a rule made.

Every node of the graph is a leaf. A tree node shown folded is one box; unfolded it is a frame around its children.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.analysis.diff.result import Group, LayerRun

SCOPE, RUN, BODY, GROUP = 0, 1, 2, 3
MOST_IN_GROUP = 40
"""A rule that took more nodes at once (constants folded everywhere) gets no frame: its nodes lie far apart."""

Part = tuple[int, str]  # kind, and the key among its siblings
Path = tuple[Part, ...]


@dataclasses.dataclass(eq=False, slots=True)
class Branch:
    """A tree node while the tree is made; children are branches and numbers of leaves, by first leaf."""

    kind: int
    label: str
    path: str
    scope: str
    children: list[Branch | int] = dataclasses.field(default_factory=list)


def paths(places: Sequence[tuple[str, str]], groups: Sequence[Group], runs: Sequence[LayerRun]) -> list[Path]:
    """The way from the root to each leaf, from its ``(graph, scope)``."""
    by_scope: dict[tuple[str, str], Path] = {}
    layers = _layers(runs)
    found: list[Path] = []
    for place in places:
        path = by_scope.get(place)
        if path is None:
            path = by_scope[place] = _through_runs(place, layers)
        found.append(path)
    for index, group in enumerate(groups):
        at = _through_runs((_graph_of(group, places), group.scope), layers)
        near = _layer(at)
        members = [i for i in (*group.before, *group.after) if found[i][: len(near)] == near]
        if 2 <= len(members) <= MOST_IN_GROUP:
            home = (*at, (GROUP, str(index)))
            for i in members:
                found[i] = home
    return found


def _graph_of(group: Group, places: Sequence[tuple[str, str]]) -> str:
    return places[(*group.after, *group.before)[0]][0] if group.after or group.before else ""


def _layer(path: Path) -> Path:
    """The layer that a path leads into, or the path itself: what a rule took from elsewhere stays where it was."""
    for i, (kind, key) in enumerate(path):
        if kind == SCOPE and key.isdigit():
            return path[: i + 1]
    return path


def _layers(runs: Sequence[LayerRun]) -> dict[str, dict[str, str]]:
    """By prefix, for each layer that stands behind a like one: the run's box it goes into."""
    found: dict[str, dict[str, str]] = {}
    for run in runs:
        model, *rest = run.indices
        for segment in _segments(rest):
            if len(segment) > 1:
                name = f"{segment[0]}-{segment[-1]} like {model}"
                found.setdefault(run.prefix, {}).update((str(i), name) for i in segment)
    return found


def _segments(indices: Iterable[int]) -> Iterable[list[int]]:
    """Runs without a gap: folding layers around another one would tie a knot into the graph."""
    segment: list[int] = []
    for i in indices:
        if segment and i != segment[-1] + 1:
            yield segment
            segment = []
        segment.append(i)
    if segment:
        yield segment


def _through_runs(place: tuple[str, str], layers: dict[str, dict[str, str]]) -> Path:
    graph, scope = place
    path: list[Part] = [(BODY, graph)] if graph else []
    parts = scope.split(".") if scope else []
    for i, part in enumerate(parts):
        run = layers.get(".".join(parts[:i]), {}).get(part) if not graph else None
        if run:
            path.append((RUN, run))
        path.append((SCOPE, part))
    return tuple(path)


def grow(paths: Sequence[Path], groups: Sequence[Group]) -> Branch:
    """The tree over all leaves, without boxes that would hold a single thing."""
    root = Branch(SCOPE, "", "", "")
    known: dict[Path, Branch] = {(): root}
    for leaf, path in enumerate(paths):
        _branch(path, known, groups).children.append(leaf)
    _compress(root)
    return root


def _branch(path: Path, known: dict[Path, Branch], groups: Sequence[Group]) -> Branch:
    found = known.get(path)
    if found is None:
        above = _branch(path[:-1], known, groups)
        found = known[path] = _new(path, above, groups)
        above.children.append(found)
    return found


def _new(path: Path, above: Branch, groups: Sequence[Group]) -> Branch:
    kind, key = path[-1]
    if kind == GROUP:
        return Branch(kind, groups[int(key)].rule, f"{above.path}#{key}", above.scope)
    if kind == RUN:
        return Branch(kind, f"{above.label.rsplit('.', 1)[-1]} {key}", f"{above.path}@{key}", above.scope)
    if kind == BODY:
        return Branch(kind, key, f"({key})", "")
    stem = above.scope.rsplit(".", 1)[-1]
    label = f"{stem.removesuffix('s')} {key}" if key.isdigit() and stem else key
    scope = f"{above.scope}.{key}" if above.scope else key
    outside = above.path.split("@")[0] if above.kind == RUN else above.path
    return Branch(kind, label, f"{outside}.{key}" if outside else key, scope)


def _compress(branch: Branch) -> None:
    """A scope with one scope in it shares its box; a scope with one node in it needs no box."""
    for i, child in enumerate(branch.children):
        if isinstance(child, int):
            continue
        _compress(child)
        if child.kind == SCOPE and len(child.children) == 1:
            only = child.children[0]
            if isinstance(only, int):
                branch.children[i] = only
            elif only.kind in (SCOPE, GROUP):
                only.label = f"{child.label}{'.' if only.kind == SCOPE else ' · '}{only.label}"
                branch.children[i] = only
