"""Which capabilities a document asks of its reader, and what in it asks for each."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.metadata.context import WORKFLOW, Context, Placed
from workbench.metadata.diagnostic import Path
from workbench.metadata.document.ports import AdapterImplementation, Component
from workbench.metadata.document.state import Bounded, StateCell
from workbench.metadata.document.steps import BranchStep, EmitStep, LoopStep
from workbench.metadata.document.workflow import RuntimeRole, Workflow, WorkflowInput

ADAPTER_WORDS = ("parameter_adapters", "heterogeneous_adapter_batching")
"""What top-level adapters ask for."""
BUILT_IN = frozenset({
    "workflow_ssa", "serving_service_contract", "session_state_lease", "bounded_state_recurrence", "advisory_state",
    "input_presence", "heterogeneous_adapter_batching", "linear_effects", "adaptive_proposal_budget",
    "grammar_guidance_adapter", "telemetry_adapter", "parameter_adapters", "nested_control_flow",
    "loop_induction_values", "typed_emit", "streaming_emit", "emit_valid_length", "kv_cache",
    "grouped_query_attention", "multi_head_attention", "prefix_cache", "continuous_batching", "control_flow_loop",
    "image_preprocessing_program", "packed_image_outputs", "position_program", "multi_axis_positions",
    "loop_carried_state", "dual_sequence_inputs", "explicit_transfer",
})  # fmt: skip
_BY_CONTRACT = {
    "onnx-genai.adaptive-proposal-budget": "adaptive_proposal_budget",
    "onnx-genai.grammar-guidance": "grammar_guidance_adapter",
    "onnx-genai.telemetry": "telemetry_adapter",
    "onnx-genai.parameter-overlay": "parameter_adapters",
}
Reason = tuple[str, Path]


def derived(context: Context) -> dict[str, Path]:
    """Each capability that the document uses, with the first place that uses it. Empty without a workflow."""
    found = structural(context)
    if found and context.document.adapters:
        for word in ADAPTER_WORDS:
            found.setdefault(word, ("adapters",))
    return found


def asked(context: Context) -> dict[str, Path]:
    """What a reader must offer: capabilities used, listed in the manifest, or required of the package."""
    found = derived(context)
    if context.workflow:
        for index, word in enumerate(context.workflow.manifest.capabilities):
            found.setdefault(word, (*WORKFLOW, "manifest", "capabilities", index))
    for index, word in enumerate(context.document.required_capabilities):
        found.setdefault(word, ("required_capabilities", index))
    return found


def structural(context: Context) -> dict[str, Path]:
    """The same, of the workflow alone."""
    workflow = context.workflow
    if workflow is None:
        return {}
    found: dict[str, Path] = {"workflow_ssa": WORKFLOW}
    for word, path in _reasons(context, workflow):
        found.setdefault(word, path)
    return found


def _reasons(context: Context, workflow: Workflow) -> Iterator[Reason]:
    if workflow.serving:
        yield "serving_service_contract", (*WORKFLOW, "serving")
    for name, cell in workflow.state.items():
        yield from _of_cell(cell, (*WORKFLOW, "state", name))
    for name, entry in workflow.inputs.items():
        yield from _of_input(entry, (*WORKFLOW, "inputs", name))
    if workflow.effects:
        yield "linear_effects", (*WORKFLOW, "effects")
    for name, component in workflow.components.items():
        yield from _of_component(component, (*WORKFLOW, "components", name))
    for placed in context.steps:
        yield from _of_step(placed)


def _of_cell(cell: StateCell, path: Path) -> Iterator[Reason]:
    if cell.scope == "session":
        yield "session_state_lease", (*path, "scope")
    if isinstance(cell.recurrence, Bounded):
        yield "bounded_state_recurrence", (*path, "recurrence")
    if cell.state_class == "advisory":
        yield "advisory_state", (*path, "class")


def _of_input(entry: WorkflowInput, path: Path) -> Iterator[Reason]:
    if entry.present_as is not None:
        yield "input_presence", (*path, "present_as")
    if isinstance(entry.role, RuntimeRole) and entry.role.role.startswith("adapter_"):
        yield "heterogeneous_adapter_batching", (*path, "role")


def _of_component(component: Component, path: Path) -> Iterator[Reason]:
    if component.effects:
        yield "linear_effects", (*path, "effects")
    if component.contract and component.contract.id in _BY_CONTRACT:
        yield _BY_CONTRACT[component.contract.id], (*path, "contract", "id")
    implementation = component.implementation
    if isinstance(implementation, AdapterImplementation) and implementation.abi in _BY_CONTRACT:
        yield _BY_CONTRACT[implementation.abi], (*path, "implementation", "abi")


def _of_step(placed: Placed) -> Iterator[Reason]:
    """An effect inside a loop or branch changes it, so both are told by what is inside them."""
    step, path = placed.step, placed.path
    if isinstance(step, LoopStep | BranchStep):
        yield "nested_control_flow", path
    if isinstance(step, LoopStep):
        if step.iteration:
            yield "loop_induction_values", (*path, "iteration")
        if step.carried:
            yield "linear_effects", (*path, "carried")
    if isinstance(step, EmitStep):
        yield from _of_emit(step, placed)


def _of_emit(step: EmitStep, placed: Placed) -> Iterator[Reason]:
    yield "typed_emit", placed.path
    if step.mode == "event":
        yield "streaming_emit", (*placed.path, "mode")
    if step.valid_length is not None:
        yield "emit_valid_length", (*placed.path, "valid_length")
    if any(isinstance(outer.step, LoopStep | BranchStep) for outer in placed.around):
        yield "linear_effects", placed.path
