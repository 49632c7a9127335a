"""Runs of the decoder document with Python functions for its components: each token is the one after the last."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import onnx_ir as ir

from tests.unit.metadata.fixtures import base
from workbench.interpret import WorkflowRun, WorkflowStepper, stepper

TOKENS = 258
CACHES = {"nk": "pk", "nv": "pv"}
EVIL = "<img src=x onerror=alert(1)>"


def lm(feeds: Any) -> dict[str, Any]:
    """Scores that prefer the token after the last, and caches that grow by what is read."""
    ids = feeds["ids"]
    scores = np.zeros((*ids.shape, TOKENS), np.float32)
    np.put_along_axis(scores, ((ids + 1) % TOKENS)[..., None], 1.0, axis=-1)
    new = np.zeros((ids.shape[0], 2, ids.shape[1], 16), np.float32)
    return {"scores": scores} | {after: np.concatenate([feeds[past], new], 2) for after, past in CACHES.items()}


def forgetful(feeds: Any) -> dict[str, Any]:
    """The same, with caches that do not grow: the run fails at it."""
    return lm(feeds) | {after: feeds[past] for after, past in CACHES.items()}


def policy(feeds: Any) -> dict[str, Any]:
    token = feeds["scores"][:, -1:].argmax(-1).astype(np.int64)
    rows = token.shape[0]
    go = np.ones(rows, bool)
    return {"tok": token, "go": go, "end": ~go, "n": np.ones(rows, np.int64)}


def document() -> dict[str, Any]:
    return base("dec")


def graph() -> ir.Model:
    """Something to look at behind ``lm``."""
    return ir.from_onnx_text(
        '<ir_version: 10, opset_import: ["" : 21]> lm (int64[b, s] ids) => (float[b, s] scores) '
        "{ x = Cast<to = 1>(ids) scores = Relu(x) }"
    )


def broken() -> dict[str, Any]:
    """The document with a fault at a step, at what a loop carries, in a state cell and in the manifest."""
    found = document()
    flow = found["pipeline"]["workflow"]
    (loop,) = flow["steps"]
    loop["steps"][0]["inputs"]["mask"] = "maskk"
    loop["carried"][2]["next"] = "nowhere"
    flow["state"]["k0"]["contract"]["rank"] = 5
    flow["manifest"]["capabilities"].remove("linear_effects")
    return found


def hostile() -> dict[str, Any]:
    """The decoder with markup for the name of its component, its cells and its output."""
    text = json.dumps(document())
    return dict(
        json.loads(text.replace('"lm"', f'"{EVIL}"').replace('"k0"', f'"{EVIL}k"').replace("s.tok", EVIL + "t"))
    )


def inputs() -> dict[str, Any]:
    return {"prompt": np.array([[5, 6, 7]]), "mask": np.ones((1, 3), np.int64), "limit": np.array([3])}


def stepped(**changed: Any) -> WorkflowStepper:
    """The run before its first step; ``changed`` replaces functions."""
    return stepper(document(), inputs(), executors={"lm": lm, "policy": policy} | changed)


@cache
def recorded() -> WorkflowRun:
    with stepped() as made:
        return made.finish()
