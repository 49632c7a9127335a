"""The pipeline: seconds for a skeleton of Llama-3.1-8B per provider, against one onnx shape inference of that graph.

Also seconds per layer for 8, 32 and 128 layers (linear if alike), graphs of 27,000 nodes against some of 700, and what
it costs to explain every miss. Minimum of three; all in one process, one after the other.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from typing import Any

import onnx
import onnx_ir as ir

from benchmarks.building import EPS, LLAMA_31_8B, SMALL

REPEATS = 3
SHAPE_LIMIT, EXPLAIN_LIMIT, GROWTH_LIMIT = 1.0, 2.0, 40.0
LAYER_LIMIT = 1.5
"""Seconds per layer of the deepest against the shallowest: linear but for noise."""


def measure() -> dict[str, Any]:
    """All of it, each ratio with its limit."""
    return {
        "providers": against_shape_inference(), "layers": layers(), "many_nodes": many_nodes(),
        "explaining": explaining(), "checking": checking(),
    }  # fmt: skip


def skeleton(**words: Any) -> ir.Model:
    """A generic graph without data."""
    from workbench.build import recipe_for
    from workbench.recipe import PLAIN

    recipe = recipe_for({**LLAMA_31_8B, **words, "model_type": "llama"}, module_class=None, load_weights=False)
    return recipe.generic(ir.DataType.FLOAT, PLAIN)[0]["model"]


def seconds(act: Callable[[], Any]) -> float:
    """CPU seconds, the smallest of some."""
    act()
    return min(once(act) for _ in range(REPEATS))


def once(act: Callable[[], Any]) -> float:
    """CPU seconds of one run: what takes long is measured once."""
    start = time.process_time()
    act()
    return time.process_time() - start


def pipeline(model: ir.Model, name: str) -> Callable[[], Any]:
    from workbench import optimize
    from workbench.ep import get_ep
    from workbench.types import dtype_word

    word = "float32" if "float32" in repr(get_ep(name)) else dtype_word(get_ep(name).default_dtype)
    return lambda: optimize(model, execution_provider=name, dtype=word)


def against_shape_inference() -> dict[str, Any]:
    """Ratio of each provider's pipeline to one shape inference of the generic graph; limit 1."""
    model = skeleton()
    logging.getLogger("onnx_ir").setLevel(logging.ERROR)  # weights without data are what a skeleton is
    proto = ir.to_proto(model)
    inference = seconds(lambda: onnx.shape_inference.infer_shapes(proto))
    each = {name: seconds(pipeline(model, name)) for name in EPS}
    ratios = {name: found / inference for name, found in each.items()}
    return {
        "nodes": len(model.graph), "shape_inference": inference, "seconds": each, "ratios": ratios,
        "worst": max(ratios.values()), "limit": SHAPE_LIMIT,
    }  # fmt: skip


def layers() -> dict[str, Any]:
    """Seconds per layer, for the provider with the longest plan and the one with the most fusions."""
    found: dict[str, Any] = {"limit": LAYER_LIMIT}
    models = {count: skeleton(num_hidden_layers=count) for count in (8, 32, 128)}
    for name in ("cpu", "trt-rtx"):
        each = {count: seconds(pipeline(model, name)) / count for count, model in models.items()}
        found[name] = {"seconds_per_layer": each, "ratio": each[128] / each[8]}
    return found


def many_nodes() -> dict[str, Any]:
    """Graphs of about 27,000 nodes against some of 700: experts written out one by one, and many layers."""
    from benchmarks.unrolled import unrolled

    layers = (skeleton(**SMALL | {"num_hidden_layers": count}) for count in (29, 1125))
    experts = (unrolled(num_hidden_layers=count) for count in (1, 39))
    return {"experts": _growth(*experts), "layers": _growth(*layers), "limit": GROWTH_LIMIT}


def _growth(small: ir.Model, large: ir.Model) -> dict[str, Any]:
    one, two = seconds(pipeline(small, "cpu")), seconds(pipeline(large, "cpu"))
    return {"nodes": [len(small.graph), len(large.graph)], "seconds": [one, two], "ratio": two / one}


def explaining() -> dict[str, Any]:
    """``why_not`` where every candidate is missed, against the pipeline on that graph; limit 2."""
    from workbench import why_not

    model = skeleton()
    for node in [node for node in model.graph if node.op_type == "Attention"]:
        mask = node.inputs[3]
        made = ir.node("Not", [mask], name=f"{node.name}/not")
        made.outputs[0].name, made.outputs[0].type = f"{node.name}/not:0", mask.type if mask is not None else None
        made.outputs[0].shape = mask.shape if mask is not None else None
        model.graph.insert_before(node, [made])
        node.replace_input_with(3, made.outputs[0])
    whole = seconds(pipeline(model, "cpu"))
    asked = seconds(lambda: why_not(model, "fuse/gqa", execution_provider="cpu", dtype="float32"))
    found = why_not(model, "fuse/gqa", execution_provider="cpu", dtype="float32")
    return {"misses": len(found.near), "pipeline": whole, "why_not": asked, "ratio": asked / whole,
            "limit": EXPLAIN_LIMIT}  # fmt: skip


def checking() -> dict[str, Any]:
    """``check`` of the same skeleton, against the pipeline."""
    from workbench import check

    model = skeleton()
    return {"ratio": seconds(lambda: check(model, "cuda")) / seconds(pipeline(model, "cuda"))}


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
