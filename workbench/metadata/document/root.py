"""The document as a whole."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.metadata.document.adapters import Adapters
from workbench.metadata.document.base import Closed, Texts
from workbench.metadata.document.media import Preprocessing
from workbench.metadata.document.model import ModelFacts
from workbench.metadata.document.package import Generation, Hardware, PackageFacts, Quantization
from workbench.metadata.document.profiles import Profile
from workbench.metadata.document.speculative import Speculative
from workbench.metadata.document.workflow import Pipeline, Workflow


class Document(Closed):
    """Inference metadata of a package, in the dialect that the rules are written for."""

    schema_version: str | None = None
    required_capabilities: Texts = ()
    model: ModelFacts | None = None
    quantization: Quantization | None = None
    pipeline: Pipeline | None = None
    adapters: Adapters | None = None
    hardware_requirements: Hardware | None = None
    preprocessing: Preprocessing | None = None
    package: PackageFacts | None = None
    generation: Generation | None = None
    profiles: Mapping[str, Profile] = {}
    speculative: Speculative | None = None

    def __repr__(self) -> str:
        sections = ", ".join(sorted(self.model_fields_set - {"schema_version", "pipeline"})) or "none"
        if self.workflow is None:
            return f"Document(no workflow; sections: {sections})"
        parts = ("inputs", "outputs", "components", "state", "effects")
        counts = ", ".join(f"{len(getattr(self.workflow, part))} {part}" for part in parts)
        return f"Document({counts}; other sections: {sections})"

    __str__ = __repr__

    @property
    def workflow(self) -> Workflow | None:
        return self.pipeline.workflow if self.pipeline else None
