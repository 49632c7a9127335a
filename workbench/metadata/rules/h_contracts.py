"""Group H: tensor contracts of inputs, outputs, ports and state cells."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.metadata.context import Context
from workbench.metadata.diagnostic import show_path
from workbench.metadata.document.tensor import RequestExpanded
from workbench.metadata.document.workflow import Workflow
from workbench.metadata.dtypes import NAMEABLE
from workbench.metadata.registry import Finding, workflow_rule
from workbench.metadata.wording import q


@workflow_rule(100, "A request takes at least one entry of a request_expanded axis.")
def _factor(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for site in context.contracts:
        layout = site.contract.batch_layout
        if isinstance(layout, RequestExpanded) and layout.factor == 0:
            message = f"{show_path(site.path)} gives each request no entry."
            yield Finding((*site.path, "batch_layout", "factor"), message, "Write a factor of at least 1.")


@workflow_rule(101, "A shape has as many dimensions as the rank says.")
def _rank(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for site in context.contracts:
        contract = site.contract
        if contract.shape is not None and len(contract.shape) != contract.rank:
            message = f"{show_path(site.path)} has rank {contract.rank}, but {len(contract.shape)} dimensions."
            yield Finding((*site.path, "rank"), message, "Correct the rank or the shape.")


@workflow_rule(102, "The dtype of a contract is one that a workflow can name.")
def _dtype(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for site in context.contracts:
        if site.contract.dtype not in NAMEABLE:
            message = f"{show_path(site.path)} has the dtype {q(site.contract.dtype)}."
            yield Finding((*site.path, "dtype"), message, f"Write one of {', '.join(sorted(NAMEABLE))}.")
