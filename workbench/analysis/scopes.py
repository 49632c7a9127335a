"""The module that made a node, whoever built the graph, as one dotted path: ``model.layers.3.self_attn``."""

from __future__ import annotations

import ast
import re

import onnx_ir as ir

from workbench.types import SCOPE_KEY

NAME_SCOPES = "pkg.onnxscript.name_scopes"
CLASSES = "pkg.onnxscript.class_hierarchy"
TORCH_NAME_SCOPES = "pkg.torch.onnx.name_scopes"
TORCH_CLASSES = "pkg.torch.onnx.class_hierarchy"
NAMESPACE = "namespace"

_OPERATOR = re.compile(r"^(aten|prims|higher_order|torchvision|quantized_decomposed)\b|\.default$|^<|::")
"""What the class list of torch.onnx says of the last entry, which is the operation and no module."""


def scope_of(node: ir.Node) -> str:
    """The dotted module path of a node; empty where neither metadata nor the node's name tells one.

    Understood are our own metadata, what onnxscript and torch.onnx leave (lists of scopes, ``namespace``), and names
    that are paths, as ONNX Runtime GenAI's ``/model/layers.3/attn/q_proj/MatMul``.
    """
    props = node.metadata_props
    if props:
        own = props.get(SCOPE_KEY)
        if own:
            return own
        for scopes, classes in ((NAME_SCOPES, CLASSES), (TORCH_NAME_SCOPES, TORCH_CLASSES)):
            if scopes in props:
                return _joined(_listed(props[scopes]), _listed(props.get(classes, "")))
        if NAMESPACE in props:
            return _from_namespace(props[NAMESPACE])
    return scope_of_name(node.name or "")


def scope_of_name(name: str) -> str:
    """``/model/layers.3/attn/q_proj/MatMul`` -> ``model.layers.3.attn.q_proj``; empty for a name that is no path."""
    if "/" not in name:
        return ""
    return ".".join(part for part in name.split("/")[:-1] if part)


def _joined(scopes: list[str], classes: list[str]) -> str:
    """One path of a list of scopes, whose items are steps (onnxscript) or each the whole path so far (torch.onnx)."""
    if len(classes) == len(scopes) and classes and _OPERATOR.search(classes[-1]):
        scopes = scopes[:-1]
    path = ""
    for scope in filter(None, scopes):
        whole = scope == path or scope.startswith(f"{path}.")
        path = scope if whole or not path else f"{path}.{scope}"
    return path


def _from_namespace(text: str) -> str:
    """``: Model/model: Decoder/layers.0: Layer`` -> ``model.layers.0``."""
    steps = [step.rpartition(": ") if ": " in step else (step.rstrip(":"), "", "") for step in text.split("/")]
    return _joined([name.strip(": ") for name, _, _ in steps], [kind for _, _, kind in steps])


def _listed(text: str) -> list[str]:
    try:
        found = ast.literal_eval(text) if text else []
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []
    return [item for item in found if isinstance(item, str)] if isinstance(found, list | tuple) else []
