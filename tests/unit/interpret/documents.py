"""Small workflows that are valid and can be run: parts in a line each, graphs as text, components as Python functions.

A tensor is written ``float32[batch, 4]``; one whose first axis is called ``batch`` has an entry per request there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser

STEPS = "pipeline.workflow.steps.nodes"


def tensor(text: str) -> dict[str, Any]:
    word, dims = re.fullmatch(r"(\w+)\[(.*)\]", text).groups()
    shape: list[int | str] = [int(dim) if dim.isdigit() else dim for dim in re.split(r"[\s,]+", dims) if dim]
    found: dict[str, Any] = {"dtype": word, "rank": len(shape), "shape": shape}
    if shape[:1] == ["batch"]:
        found["batch_layout"] = {"kind": "request_aligned", "axis": 0}
    return found


def literal(text: str, value: Any) -> dict[str, Any]:
    return {
        "contract": tensor(text), "role": {"kind": "opaque"}, "source": {"kind": "literal"}, "required": False,
        "default": value,
    }  # fmt: skip


def request(text: str, role: str, **words: Any) -> dict[str, Any]:
    return {
        "contract": tensor(text), "role": {"kind": "runtime", "version": "1.0", "role": role},
        "source": {"kind": "request"}, **words,
    }  # fmt: skip


def application(text: str, name: str, **words: Any) -> dict[str, Any]:
    return {
        "contract": tensor(text), "role": {"kind": "opaque"}, "source": {"kind": "application", "name": name}, **words,
    }  # fmt: skip


def output(text: str, role: str = "tensor") -> dict[str, Any]:
    return {"contract": tensor(text), "role": role, "stage": "pre_adapter"}


def ports(inputs: Mapping[str, str], outputs: Mapping[str, str], **roles: str) -> dict[str, Any]:
    sides = {"inputs": inputs, "outputs": outputs}
    found: dict[str, Any] = {side: {p: tensor(t) for p, t in words.items()} for side, words in sides.items()}
    return found | ({"roles": roles} if roles else {})


def binding(inputs: Mapping[str, str], outputs: Mapping[str, str], contract: str = "", **roles: str) -> dict[str, Any]:
    """A component that is no graph; in these tests a Python function under its contract's id."""
    found: dict[str, Any] = {"implementation": {"kind": "binding"}, "ports": ports(inputs, outputs, **roles)}
    return found | ({"contract": {"id": contract, "version": "1"}} if contract else {})


def graph(artifact: str, **declared: Any) -> dict[str, Any]:
    """An ONNX component; without ``declared`` ports those of the graph."""
    return {"implementation": {"kind": "onnx", "artifact": artifact}, **declared}


def cell(text: str, initializer: str, **words: Any) -> dict[str, Any]:
    return {
        "contract": tensor(text), "scope": "invocation", "initializer": initializer,
        "recurrence": {"kind": "invariant"}, **words,
    }  # fmt: skip


def invoke(component: str, inputs: Mapping[str, str], outputs: Mapping[str, str]) -> dict[str, Any]:
    return {"kind": "invoke", "component": component, "inputs": dict(inputs), "outputs": dict(outputs)}


def emit(value: str, name: str, mode: str = "replace", **words: Any) -> dict[str, Any]:
    return {"kind": "emit", "value": value, "output": name, "mode": mode, **words}


def loop(steps: list[Any], carried: Mapping[str, str], when: str = "go", most: str = "most", **words: Any) -> Any:
    return {
        "kind": "loop", "steps": steps, "continue_when": when, "max_iterations": most,
        "carried": [{"cell": name, "next": after} for name, after in carried.items()], **words,
    }  # fmt: skip


def workflow(steps: list[Any], **sections: Any) -> dict[str, Any]:
    """A document; all the capabilities that any of these tests needs are in its manifest."""
    words = (
        "workflow_ssa linear_effects nested_control_flow typed_emit streaming_emit emit_valid_length input_presence "
        "serving_service_contract loop_induction_values bounded_state_recurrence"
    )
    found: dict[str, Any] = {"manifest": {"capabilities": words.split()}, "components": {}, **sections, "steps": steps}
    return {"schema_version": "v1", "pipeline": {"workflow": found}}


def write_graph(folder: Path, name: str, text: str) -> None:
    """A graph in ONNX's own text form, ``(inputs) => (outputs) { nodes }``, into a file."""
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> g {text}')
    onnx.save(model, folder / name)


# --- a loop that counts, with a cell to look at -----------------------------------------------------------------
def counting(
    *, cell_text: str = "float32[batch, 2]", start: Any = 0.0, rounds: int = 3, recurrence: Any = None,
    made: str = "", **inputs: Any,
) -> dict[str, Any]:  # fmt: skip
    """``rounds`` rounds of one Python function ``test.body`` that gives the next ``x``, declared as ``made``."""
    found: dict[str, Any] = {"x": cell(cell_text, "start", **({"recurrence": recurrence} if recurrence else {}))}
    found["go"] = cell("bool[]", "yes")
    return workflow(
        [
            loop([invoke("body", {"x": "x"}, {"y": "next.x", "more": "next.go"})], {"x": "next.x", "go": "next.go"}),
            emit("x", "last"),
        ],
        inputs={
            "rows": request("int64[batch, s]", "prompt_tokens"), "start": literal(cell_text, start),
            "yes": literal("bool[]", True), "most": literal("int64[1]", rounds), **inputs,
        },
        outputs={"last": output(re.sub(r"\d+\]", "n]", cell_text))},
        components={"body": binding({"x": cell_text}, {"y": made or cell_text, "more": "bool[]"}, "test.body")},
        state=found,
    )  # fmt: skip


def always(y: Any) -> Any:
    """An executor for ``counting`` that goes on and gives ``y(x)``."""
    return {"test.body": lambda feeds: {"y": y(feeds["x"]), "more": np.array(True)}}
