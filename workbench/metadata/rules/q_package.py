"""Group Q: the files that a document names are there, inside the package."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.metadata.context import WORKFLOW, Context
from workbench.metadata.diagnostic import Path
from workbench.metadata.document.ports import AdapterImplementation, OnnxImplementation
from workbench.metadata.document.workflow import ArtifactSource, Workflow
from workbench.metadata.files import Verdict, look_for
from workbench.metadata.registry import Finding, rule
from workbench.metadata.wording import q

_Names = Iterator[tuple[Path, str]]
_SAYS: dict[Verdict, tuple[str, str]] = {
    "absent": ("does not exist in the package", "Add the file, or correct the path."),
    "outside": ("lies outside the package", "Put it into the package and name it relative to its folder."),
    "no-file": ("is no regular file", "Name a file."),
}


def _named(workflow: Workflow) -> _Names:
    """Files of components and inputs."""
    for name, entry in workflow.inputs.items():
        if isinstance(entry.source, ArtifactSource):
            yield (*WORKFLOW, "inputs", name, "source", "path"), entry.source.path
    for name, component in workflow.components.items():
        found = component.implementation
        if isinstance(found, OnnxImplementation | AdapterImplementation) and found.artifact:
            yield (*WORKFLOW, "components", name, "implementation", "artifact"), found.artifact


def _of_adapters(context: Context) -> _Names:
    adapters = context.document.adapters
    for name, artifact in adapters.artifacts.items() if adapters else ():
        for index, weight in enumerate(artifact.weights):
            path = ("adapters", "artifacts", name, "weights", index)
            yield (*path, "location"), weight.location
            if weight.config_location is not None:
                yield (*path, "config_location"), weight.config_location


def _faults(context: Context, names: _Names, *verdicts: Verdict) -> Iterator[Finding]:
    root = context.package_root
    for path, name in names if root else ():
        verdict = look_for(root, name) if root and name.strip() else "there"  # a blank name is rule 124's matter
        if verdict in verdicts:
            says, hint = _SAYS[verdict]
            yield Finding(path, f"The file {q(name)} {says}.", hint)


def _of_workflow(context: Context) -> _Names:
    return _named(context.workflow) if context.workflow else iter(())


@rule(271, "package", "Every file of a component or input exists in the package.")
def _exists(context: Context) -> Iterator[Finding]:
    return _faults(context, _of_workflow(context), "absent")


@rule(272, "package", "No path of a component or input leaves the package, links and `..` followed.")
def _inside(context: Context) -> Iterator[Finding]:
    return _faults(context, _of_workflow(context), "outside")


@rule(273, "package", "What a component or input names is a regular file.")
def _regular(context: Context) -> Iterator[Finding]:
    return _faults(context, _of_workflow(context), "no-file")


# A path that its folder forbids is the matter of rules 75 and 81; it is not looked for.
@rule(274, "package", "The weights and configurations of adapters are regular files in the package.", unless=(75, 81))
def _adapters(context: Context) -> Iterator[Finding]:
    return _faults(context, _of_adapters(context), "absent", "outside", "no-file")
