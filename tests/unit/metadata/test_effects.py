"""Effects in a line, and the region that a rejected proposal runs again."""

from __future__ import annotations

from typing import Any

from tests.unit.metadata.edits import all_of, put
from tests.unit.metadata.fixtures import base
from workbench.metadata import load, validate
from workbench.metadata.context import Context
from workbench.metadata.scope import TOP
from workbench.metadata.scope.effects import Effects, effects_of
from workbench.metadata.scope.region import regions

LOOP = (*TOP, 0)
NONE = put("effects.grammar.speculation_safety", {"kind": "none"})


def context(name: str, *edits: Any) -> Context:
    document = base(name)
    all_of(*edits)(document)
    return Context(load(document))


def effects(name: str, *edits: Any) -> Effects:
    return effects_of(context(name, *edits))


# --- effects --------------------------------------------------------------------------------------------
def test_domains_are_those_of_components_cells_and_the_stream() -> None:
    cells = ("active", "done", "accepted", "gram", "k0", "v0")
    assert effects("spec").domains == ("grammar", *(f"state:{cell}" for cell in cells), "stream")
    assert effects("asr").domains == ("stream",)


def test_a_touch_takes_the_token_that_the_one_before_gave() -> None:
    found = effects("spec")
    for domain in found.domains:
        tokens = [touch.before for touch in found.of(domain)]
        assert tokens == list(range(len(tokens)))


def test_a_carried_cell_is_read_at_the_begin_of_its_loop_and_written_at_its_end() -> None:
    touches = effects("spec").touches
    order = [(touch.domain, touch.step) for touch in touches]
    grammar, begin = order.index(("grammar", (*LOOP, "steps", 2))), order.index(("state:k0", LOOP))
    end = len(order) - 1 - order[::-1].index(("state:k0", LOOP))
    assert begin < grammar < end
    assert [touch.after for touch in touches if touch.domain == "state:k0"] == [1, 2]


def test_a_loop_inside_a_loop_is_written_before_what_follows_it() -> None:
    inner = {"kind": "loop", "continue_when": "yes", "max_iterations": "limit", "carried": [
        {"cell": "extra", "next": "zero"}], "steps": [{"kind": "emit", "value": "prompt", "output": "tokens",
                                                       "mode": "append"}]}  # fmt: skip
    cell = {**base("dec")["pipeline"]["workflow"]["state"]["accepted"]}
    found = effects("dec", put("state.extra", cell), put("steps[0].steps[2]", inner))
    order = [(touch.domain, touch.step) for touch in found.touches]
    inside = (*LOOP, "steps", 2)
    assert order[5:8] == [("state:extra", inside), ("stream", (*inside, "steps", 0)), ("state:extra", inside)]
    assert found.changed(inside) == ("state:extra", "stream")


def test_a_step_without_effect_changes_nothing() -> None:
    found = effects("dec")
    assert found.changed((*LOOP, "steps", 0)) == () and set(found.changed(LOOP)) == set(found.domains)
    assert repr(found) == "Effects(6 domains, 11 touches)"
    assert effects_of(Context(load({"model": {}}))) == Effects((), ())


# --- the speculative region -----------------------------------------------------------------------------
def test_the_region_is_the_loop_with_both_roles() -> None:
    (region,) = regions(context("spec"))
    assert region.loop == LOOP and list(region.components) == ["draft", "verify", "grammar"]
    assert region.components["grammar"] == (*LOOP, "steps", 2)
    assert regions(context("dec")) == ()


def test_without_a_loop_around_both_there_is_no_region() -> None:
    """So no effect is asked whether it can be undone."""
    document = base("spec")
    all_of(NONE, put("speculative.proposer", "zz"))(document)
    assert regions(Context(load(document))) == ()
    assert validate(document).codes == ("P238",)


def test_an_innermost_loop_counts_with_its_setup() -> None:
    loop = base("spec")["pipeline"]["workflow"]["steps"][0]
    outer = {"kind": "loop", "continue_when": "yes", "max_iterations": "limit", "steps": [loop],
             "setup": [{"kind": "invoke", "component": "grammar", "inputs": {}, "outputs": {}}]}  # fmt: skip
    (region,) = regions(context("spec", put("steps[0]", outer)))
    assert region.loop == (*LOOP, "steps", 0)
    moved = {**loop, "steps": loop["steps"][1:], "setup": loop["steps"][:1]}
    (region,) = regions(context("spec", put("steps[0]", moved)))
    assert region.components["draft"] == (*LOOP, "setup", 0)


def test_an_effect_outside_of_the_region_may_be_for_good() -> None:
    document = base("spec")
    NONE(document)
    steps = document["pipeline"]["workflow"]["steps"]
    grammar = steps[0]["steps"].pop(2)
    steps[0]["carried"][5]["next"] = "g0"
    steps.append(grammar | {"inputs": grammar["inputs"] | {"tok": "prompt", "len": "accepted"}})
    assert not validate(document)
    steps[0]["steps"].insert(2, steps.pop())
    assert "P269" in validate(document).codes
