"""A package that the workbench did not build: graphs by what they are for, and facts that the graphs do not tell."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from workbench.analysis.markup import block, table
from workbench.config.files import is_folder
from workbench.config.source import SourceConfig
from workbench.describe.facts import no_facts, read_facts
from workbench.describe.kinds import Kind, kind_named
from workbench.errors import ConfigError, ModelFileError, root_cause, some, unknown, wrong_type
from workbench.metadata.files import look_for
from workbench.package import Package

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["component", "file", "inputs", "outputs"]
_TEXT = {".onnxtxt": "onnxtxt", ".textproto": "textproto", ".txtpb": "textproto", ".pbtxt": "textproto"}
_REFUSED = {
    "absent": "there is no such file below the folder",
    "outside": "the path leaves the folder",
    "no-file": "it is no regular file",
}


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class DescribedPackage:
    """``describe`` takes one in the place of a package. ``artifacts`` are the files of the graphs, by component."""

    kind: str
    package: Package
    artifacts: Mapping[str, str]
    facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @classmethod
    def read(
        cls,
        folder: str | os.PathLike[str],
        *,
        kind: str,
        components: Mapping[str, str],
        facts: Mapping[str, Any] | None = None,
    ) -> DescribedPackage:
        """Graphs of a folder. ``components`` says which file is what; weights are not read.

        Raises:
            UnknownNameError: no such kind, or a component or fact that the kind does not have.
            ConfigError: a component or fact is missing.
            ModelFileError: a graph cannot be read, or does not lie below the folder.
            ArgumentError: an argument has a type that is not taken.
        """
        chosen = kind_named(kind)
        if not isinstance(folder, str | os.PathLike):
            raise wrong_type("folder", folder, "a path of the package's folder")
        _check_names(chosen, components)
        check_facts(chosen, facts or {})
        root = pathlib.Path(folder)
        if not is_folder(root):
            raise ModelFileError(f"There is no folder {str(root)!r}. Give the folder that holds the graphs.")
        named = {name: components[name] for name in {**chosen.components, **chosen.optional} if name in components}
        models = {name: _graph(root, name, artifact) for name, artifact in named.items()}
        return cls(kind, Package(models, source=_source(root)), named, dict(facts or {}))

    def _rows(self) -> list[list[str]]:
        return [
            [name, self.artifacts.get(name, f"{name}.onnx"), *(", ".join(str(v.name) for v in side)
             for side in (model.graph.inputs, model.graph.outputs))]
            for name, model in self.package.models.items()
        ]  # fmt: skip

    def to_frame(self) -> pd.DataFrame:
        """A row per component: component, file, inputs, outputs."""
        import pandas as pd

        return pd.DataFrame(self._rows(), columns=COLUMNS)

    def __repr__(self) -> str:
        graphs = ", ".join(f"{name}={self.artifacts.get(name)!r}" for name in self.package.models)
        return f"DescribedPackage({self.kind!r}: {graphs}; facts: {some(self.facts)})"

    def _repr_html_(self) -> str:
        return block(repr(self), table(COLUMNS, self._rows()))


def _source(root: pathlib.Path) -> SourceConfig | None:
    """Where the tokenizer lies, if the folder has one."""
    if not (root / "tokenizer.json").is_file():
        return None
    return SourceConfig(root.resolve().name, "", {}, "folder", tokenizer=root)


def check_facts(kind: Kind, facts: object) -> None:
    """Whether the facts are those of a kind; the errors are of :func:`read_facts`."""
    if kind.facts is None:
        no_facts(kind.name, facts)
    else:
        read_facts(kind.name, kind.facts, facts)


def _check_names(kind: Kind, components: object) -> None:
    if not isinstance(components, Mapping) or not all(isinstance(path, str) for path in components.values()):
        raise wrong_type("components", components, "a mapping from what a graph is for to the path of its file")
    for name in components:
        if name not in {**kind.components, **kind.optional}:
            raise unknown(f"component of the kind {kind.name}", name, {**kind.components, **kind.optional})
    for name, what in kind.components.items():
        if name not in components:
            raise ConfigError(
                f"A package of the kind {kind.name} has a component {name!r}: {what}. Given: {some(components)}. "
                f"Add it: components={{{name!r}: 'path of its graph'}}."
            )


def _graph(root: pathlib.Path, name: str, artifact: str) -> ir.Model:
    verdict = look_for(root, artifact)
    if verdict != "there":
        raise ModelFileError(f"The graph of {name!r} cannot be read: {artifact!r}: {_REFUSED[verdict]}.")
    path = root / artifact
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The onnxtxt format is experimental")
            model = ir.load(path, format=_TEXT.get(path.suffix.lower(), "protobuf"))
    except Exception as error:  # a damaged file raises what its reader likes
        raise ModelFileError(f"The graph of {name!r} cannot be read: {artifact!r}: {root_cause(error)}.") from None
    if not model.graph.outputs:
        raise ModelFileError(f"The graph of {name!r} cannot be read: {artifact!r} holds no graph with outputs.")
    return model


__all__ = ["DescribedPackage", "check_facts"]
