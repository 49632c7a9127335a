"""Graphs that hardly are decoders, folders that hardly are any: a sentence, never a traceback or a wrong document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx_ir as ir
import pytest

from tests.unit.describe.odd_graphs import LOGITS, PLAIN, cache, graph, present
from workbench import Package, UnsupportedError, describe
from workbench.describe import DescribedPackage
from workbench.errors import ModelFileError, UnknownNameError

IDS, MASK = PLAIN
ODD: dict[str, tuple[list[str], list[str], str]] = {
    "tokens without a shape": (["input_ids int64", *cache()], [*LOGITS, *present()], "input_ids is int64 of no shape"),
    "tokens of one axis": (["input_ids int64[S]", *cache()], [*LOGITS, *present()], "int64 [S]"),
    "tokens in fractions": (["input_ids float[B, S]", *cache()], [*LOGITS, *present()], "works with int64 or int32"),
    "tokens in words": (["input_ids string[B, S]", *cache()], [*LOGITS, *present()], "works with int64 or int32"),
    "a mask of four axes": (
        [IDS, "attention_mask int64[B, 1, S, T]", *cache()], [*LOGITS, *present()], "attention_mask is int64 [B, 1, S",
    ),
    "a mask without a shape": ([IDS, "attention_mask int64", *cache()], [*LOGITS, *present()], "int64 of no shape"),
    "logits of one axis": ([*PLAIN, *cache()], ["logits float[96]", *present()], "logits is float32 [96]"),
    "logits without a shape": ([*PLAIN, *cache()], ["logits float", *present()], "logits is float32 of no shape"),
    "logits that are whole": ([*PLAIN, *cache()], ["logits int64[B, S, 96]", *present()], "works with a float there"),
    "a cache of three axes": ([*PLAIN, *cache(shape="[B, P, 16]")], [*LOGITS, *present()], "[rows, heads, tokens, hea"),
    "a cache without a shape": ([*PLAIN, *cache(shape="")], [*LOGITS, *present()], "key is float32 of no shape"),
    "a cache without room": ([*PLAIN, *cache(shape="[B, 2, 0, 16]")], [*LOGITS, *present()], "room for 0 tokens"),
    "caches of two lengths": (
        [*PLAIN, *cache(shape="[B, 2, 8, 16]"), *cache([1], "[B, 2, 16, 16]")], [*LOGITS, *present([0, 1])],
        "room for 8, 16 tokens",
    ),
    "a cache that grows beside one that does not": (
        [*PLAIN, *cache(shape="[B, 2, 8, 16]"), *cache([1])], [*LOGITS, *present([0, 1])], "8, any number of tokens",
    ),
    "keys without values": ([*PLAIN, cache()[0]], [*LOGITS, *present()], "cache of layer 0 has no value that comes in"),
    "values without keys": ([*PLAIN, cache()[1]], [*LOGITS, *present()], "cache of layer 0 has no key that comes in"),
    "no logits": ([*PLAIN, *cache()], ["scores float[B, S, 96]", *present()], "cannot be described as decoder"),
    "a cache that is never given back": ([*PLAIN, *cache()], LOGITS, "cannot be described as decoder"),
    "a mask of other rows": (
        ["input_ids int64[2, S]", "attention_mask int64[3, T]", *cache()], [*LOGITS, *present()],
        "The rows of the graph's input_ids are 2, those of its attention_mask 3;",
    ),
    "a cache of other rows": (
        ["input_ids int64[1, S]", "attention_mask int64[1, T]", *cache(shape="[4, 2, P, 16]")],
        [*LOGITS, *present(shape="[4, 2, T, 16]")], "input_ids are 1, those of its past_key_values.0.key 4;",
    ),
    "a cache that comes back with other heads": (
        [*PLAIN, *cache()], [*LOGITS, *present(shape="[B, 4, T, 16]")],
        "past_key_values.0.key float32 [B, 2, P, 16] and leaves as present.0.key float32 [B, 4, T, 16]",
    ),
    "a cache that comes back with other axes": (
        [*PLAIN, *cache()], [*LOGITS, *present(shape="[B, 2, T]")], "leaves as present.0.key float32 [B, 2, T]",
    ),
    "a cache that comes back in another dtype": (
        [*PLAIN, *cache()], [*LOGITS, *(port.replace("float", "int64") for port in present())],
        "leaves as present.0.key int64 [B, 2, T, 16]",
    ),
    "two names for one cache": (
        [*PLAIN, *cache(), *cache(past="past")], [*LOGITS, *present()],
        "'past_key_values.0.key' and 'past.0.key' both lead to the output 'present.0.key'",
    ),
    "two ways to name a layer": (
        [*PLAIN, *cache(), *cache([1], past="past")], [*LOGITS, *present([0, 1])],
        "Keys and values that grow are called past_key_values.N.key",
    ),
    "another way to name a cache": (
        [*PLAIN, *cache([0, 1], past="past")], [*LOGITS, *present([0, 1])], "import its genai_config.json",
    ),
    "a layer called 00": (
        [*PLAIN, *cache([0, "00"])], [*LOGITS, *present([0, "00"])], "Keys and values that grow are called",
    ),
    "a state of another size afterwards": (
        [*PLAIN, "past_conv.0 float[B, 4, 3]"], [*LOGITS, "present_conv.0 float[B, 4, 2]"], "replaced by one of its",
    ),
    "nothing": ([], [], "Its graphs: model: none -> none"),
}  # fmt: skip


@pytest.mark.parametrize("policy", ["runtime", "graphs"])
@pytest.mark.parametrize("case", ODD)
def test_what_no_loop_can_run_is_refused(case: str, policy: str) -> None:
    inputs, outputs, said = ODD[case]
    with pytest.raises(UnsupportedError) as found:
        describe(Package({"model": ir.from_proto(graph(inputs, outputs))}), policy=policy)
    text = str(found.value)
    assert said in text or (policy == "graphs" and "policy='graphs': the workflow of the kind 'hybrid'" in text)


@pytest.mark.parametrize(("extra", "said"), [
    ("attention_mask float[B, T]", "attention_mask is float32 [B, T], and a decode loop works with int64 [rows, tok"),
    ("position_ids string[B, S]", "position_ids is string [B, S], and a decode loop works with int64 [rows, tok"),
    ("position_ids int64[3, B, S]", "position_ids is int64 [3, B, S], and a decode loop works with int64 [rows, tok"),
])  # fmt: skip
def test_what_policy_graphs_do_not_make_is_refused(extra: str, said: str) -> None:
    mask = [MASK] if "attention_mask" not in extra else []
    proto = graph([IDS, *mask, extra, *cache()], [*LOGITS, *present()])
    with pytest.raises(UnsupportedError) as found:
        describe(Package({"model": ir.from_proto(proto)}), policy="graphs")
    assert said in str(found.value)


@pytest.mark.parametrize("dims", ["größe, 序列", "-1, -1", ", ", "1 + 1, 2 * 1"])
def test_odd_names_of_axes(dims: str) -> None:
    proto = graph([f"input_ids int64[{dims}]", *cache()], [*LOGITS, *present()])
    made = describe(Package({"model": ir.from_proto(proto)}))
    assert not made.validate("pr828") and not made.validate("v1") and "input_ids" in made.to_yaml()


def test_facts_that_have_no_name() -> None:
    with pytest.raises(UnknownNameError, match="takes no facts, its graphs tell everything; found 1"):
        describe(Package({"model": ir.from_proto(graph([*PLAIN, *cache()], [*LOGITS, *present()]))}), facts={1: 2})


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "\udcff", ""])
def test_names_that_no_folder_has(name: str, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(graph([*PLAIN, *cache()], [*LOGITS, *present()]).SerializeToString())
    words: dict[str, Any] = {"kind": "decoder", "components": {"model": "model.onnx"}}
    made = describe(DescribedPackage.read(tmp_path, **words))
    for act in (lambda: DescribedPackage.read(name, **words), lambda: made.save_beside(name)):
        with pytest.raises(ModelFileError, match="no graph|There is no folder|cannot be read|lacks graphs"):
            act()
