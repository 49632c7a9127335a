"""A decoder of as many layers as one likes, made from the decoder document of one layer."""

from __future__ import annotations

import copy
from typing import Any

from tests.unit.metadata.fixtures import base


def decoder(layers: int = 100) -> dict[str, Any]:
    """Each layer has a key and a value cell of its own in the group ``kv``."""
    document: dict[str, Any] = base("dec")
    flow = document["pipeline"]["workflow"]
    ports, group = flow["components"]["lm"]["ports"], flow["serving"]["state_service"]["groups"]["kv"]["ports"]["lm"]
    (loop,) = flow["steps"]
    call = loop["steps"][0]
    for letter, role in (("k", "key"), ("v", "value")):
        cell = flow["state"].pop(f"{letter}0")
        past, present = ports["inputs"].pop(f"p{letter}"), ports["outputs"].pop(f"n{letter}")
        del group[f"{letter}0"], call["inputs"][f"p{letter}"], call["outputs"][f"n{letter}"]
        loop["carried"] = [one for one in loop["carried"] if one["cell"] != f"{letter}0"]
        for layer in range(layers):
            name, before, after = f"{letter}{layer}", f"past.{layer}.{role}", f"present.{layer}.{role}"
            flow["state"][name] = copy.deepcopy(cell)
            ports["inputs"][before], ports["outputs"][after] = copy.deepcopy(past), copy.deepcopy(present)
            group[name] = {"input": before, "output": after, "role": role, "layer": layer}
            call["inputs"][before], call["outputs"][after] = name, f"n.{name}"
            loop["carried"].append({"cell": name, "next": f"n.{name}"})
    return document
