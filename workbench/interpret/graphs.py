"""The ONNX graphs of a package, each loaded when a step first calls it, from below the package's folder only."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

import onnx_ir as ir

from workbench.analysis.graph_facts import GQA
from workbench.errors import WorkbenchError
from workbench.interpret.arrays import Array
from workbench.interpret.diagnostic import Violation
from workbench.metadata.document.tensor import TensorContract
from workbench.metadata.files import look_for
from workbench.metadata.wording import q
from workbench.rules.features import FEATURES
from workbench.rules.graph import use_of

_WORDS = {
    "float": "float32",
    "double": "float64",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "bool": "bool",
    **{word: word for word in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")},
}
_WHY = {
    "absent": "does not exist in the package",
    "outside": "lies outside the package",
    "no-file": "is no regular file",
}


class Graphs:
    """Sessions by artifact; ``root`` is None for a document without a package."""

    def __init__(self, root: pathlib.Path | None) -> None:
        self.root = root
        self._sessions: dict[str, Any] = {}
        self._inputs: dict[str, dict[str, TensorContract]] = {}
        self._pads_right: dict[str, bool] = {}

    def run(self, artifact: str, feeds: Mapping[str, Array], outputs: list[str]) -> dict[str, Array]:
        """The outputs of a graph.

        Raises:
            Violation: the file is not there, or ONNX Runtime refuses it or what it is fed.
        """
        session = self._session(artifact)
        try:
            return dict(session.run(feeds, outputs))
        except WorkbenchError as error:
            raise Violation(
                "run.component",
                f"The graph {q(artifact)}: {error}",
                "Compare its inputs with the step's, or ask `workbench metadata validate --ports`.",
            ) from None

    def inputs(self, artifact: str) -> dict[str, TensorContract]:
        """What a graph says of its inputs, where that can be said in a contract."""
        if artifact not in self._inputs:  # asked for several times in each round
            found = {name: _contract(value) for name, value in self._session(artifact).inputs.items()}
            self._inputs[artifact] = {name: contract for name, contract in found.items() if contract is not None}
        return self._inputs[artifact]

    def names(self, artifact: str) -> tuple[list[str], tuple[str, ...]]:
        """The names of a graph's inputs and outputs."""
        session = self._session(artifact)
        return list(session.inputs), session.outputs

    def pads_right(self, artifact: str) -> bool:
        """Whether an attention of the graph takes each row's real tokens from its front, whatever the mask says."""
        self._session(artifact)
        return self._pads_right[artifact]

    def close(self) -> None:
        """Free the sessions; a graph that is asked for again is loaded again."""
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()

    def _session(self, artifact: str) -> Any:
        if artifact not in self._sessions:
            self._sessions[artifact] = self._load(artifact)
        return self._sessions[artifact]

    def _load(self, artifact: str) -> Any:
        from workbench.package import load
        from workbench.runtime.ort_cpu import OrtCpuSession

        verdict = "absent" if self.root is None else look_for(self.root, artifact)
        if verdict != "there" or self.root is None:
            hint = "Give the folder of the package." if self.root is None else "Add the file, or correct the path."
            raise Violation("run.component", f"The file {q(artifact)} {_WHY[verdict]}.", hint)
        try:
            model = load(self.root / artifact).model
            self._pads_right[artifact] = any(map(_counts_tokens, model.graph.all_nodes()))
            return OrtCpuSession(model)
        except WorkbenchError as error:
            raise Violation("run.component", f"The graph {q(artifact)} cannot be loaded: {error}") from None


def _counts_tokens(node: ir.Node) -> bool:
    """A GroupQueryAttention without a bias knows how many tokens a row has, not where they are."""
    return use_of(node) == GQA and not FEATURES[GQA]["attention_bias"](node)


def _contract(value: Any) -> TensorContract | None:
    word = _WORDS.get(value.type.removeprefix("tensor(").removesuffix(")"))
    if word is None or value.shape is None:
        return None
    dims = tuple(dim if dim not in (None, "") else f"{value.name}.{axis}" for axis, dim in enumerate(value.shape))
    return TensorContract(dtype=word, rank=len(dims), shape=dims)
