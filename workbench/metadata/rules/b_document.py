"""Group B: the document as a whole, and what it asks of a reader."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.metadata.capabilities import ADAPTER_WORDS, asked, structural
from workbench.metadata.context import WORKFLOW, Context
from workbench.metadata.diagnostic import show_path
from workbench.metadata.document.workflow import Workflow
from workbench.metadata.registry import Finding, rule, workflow_rule
from workbench.metadata.wording import q

_CAPABILITIES = (*WORKFLOW, "manifest", "capabilities")


@rule(12, "semantic", "A document with a workflow has no model.io: ports are named in one place.")
def _two_answers(context: Context) -> Iterator[Finding]:
    model = context.document.model
    if context.workflow and model and model.io:
        message = "model.io names ports, and so does pipeline.workflow."
        yield Finding(("model", "io"), message, "Remove model.io; the workflow says which ports there are.")


# Rules 18, 24, 64 and 237 say already that there is no workflow, and what for it is needed.
@rule(13, "package", "A package has a pipeline.", unless=(18, 24, 64, 237))
def _no_pipeline(context: Context) -> Iterator[Finding]:
    if context.workflow is None:
        message = "The document has no pipeline, so nothing says how the package runs."
        yield Finding((), message, "Add pipeline.workflow; documents without one are read as facts of a model only.")


@workflow_rule(14, "The manifest lists every capability that the workflow uses.")
def _capabilities(context: Context, workflow: Workflow) -> Iterator[Finding]:
    listed = {*workflow.manifest.capabilities, *(ADAPTER_WORDS if context.document.adapters else ())}
    for word, reason in structural(context).items():
        if word not in listed:
            message = f"The manifest does not list {q(word)}, which {show_path(reason)} uses."
            yield Finding(_CAPABILITIES, message, f"Add {q(word)} to manifest.capabilities.")


@workflow_rule(15, "With adapters the manifest lists parameter_adapters and heterogeneous_adapter_batching.")
def _adapter_capabilities(context: Context, workflow: Workflow) -> Iterator[Finding]:
    if context.document.adapters is None:
        return
    for word in ADAPTER_WORDS:
        if word not in workflow.manifest.capabilities:
            message = f"The document has adapters, and its manifest lacks {q(word)}."
            yield Finding(_CAPABILITIES, message, f"Add {q(word)} to manifest.capabilities.")


@rule(16, "admission", "The reader offers every capability that the document asks for.")
def _advertised(context: Context) -> Iterator[Finding]:
    if context.advertised is None:
        return
    for word, reason in asked(context).items():
        if word not in context.advertised:
            message = f"The document asks for {q(word)}, which this reader does not offer."
            yield Finding(reason, message, "Take another reader; the document itself is sound.")
