"""The layout as checks on source text: pure functions from modules to sentences about what is wrong.

Nothing here imports the package, so a check sees a bad module even where importing it would fail.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "workbench"

LAYERS = (
    "errors", "types", "ep", "config", "functions", "components", "models", "tasks", "weights", "rules",
    "passes", "package", "analysis", "runtime", "optimize", "explain", "check", "recipe", "build", "support", "zoo",
    "sources", "metadata", "describe", "interpret", "export", "importing",
    "parity", "compare", "steps", "viz", "widgets", "sweep", "cli",
)  # fmt: skip
CLOSED_TO_EP = {"config", "functions", "components", "models", "tasks", "rules", "passes"}
EP_NAMES = {"cpu", "cuda", "dml", "webgpu", "trt-rtx", "NvTensorRtRtx", "onnx-standard", "openvino", "qnn"}
NOTEBOOK_ONLY = {"ipywidgets", "anywidget", "traitlets", "IPython", "netron"}
HEAVY = {"torch", "transformers", "pandas", "matplotlib", "onnxruntime", "gguf", "huggingface_hub"}
# What a widget may show: results and the words around them. It must not reach into the engine.
WIDGETS_MAY_IMPORT = {
    "errors",
    "types",
    "ep",
    "package",
    "analysis",
    "optimize",
    "metadata",
    "interpret",
    "parity",
    "compare",
    "steps",
    "viz",
    "widgets",
}
FACES = {"plot", "widget", "save_html"}
MAX_LINES = 400


@dataclasses.dataclass(frozen=True)
class Module:
    """One source file under its dotted name; ``is_package`` is true for an ``__init__.py``."""

    name: str
    source: str
    is_package: bool = False

    @property
    def layer(self) -> str:
        """The part of the house it belongs to; empty for the package itself."""
        return layer_of(self.name)


@dataclasses.dataclass(frozen=True)
class Import:
    """One imported module, where it stands and in which functions (outermost first)."""

    target: str
    line: int
    inside: tuple[str, ...] = ()
    typing_only: bool = False

    @property
    def in_a_face(self) -> bool:
        """Whether it stands in a result's plot, widget or rich representation."""
        return any(name in FACES or name.startswith("_repr_") for name in self.inside)

    @property
    def runs_at_import(self) -> bool:
        return not self.inside and not self.typing_only


def layer_of(dotted: str) -> str:
    parts = dotted.split(".")
    return parts[1] if parts[0] == PACKAGE and len(parts) > 1 else ""


def read_package(root: Path) -> list[Module]:
    """Every module below ``root`` (the folder of the package), sorted by name."""
    modules = []
    for path in sorted(root.rglob("*.py")):
        parts = (root.name, *path.relative_to(root).with_suffix("").parts)
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        modules.append(Module(name, path.read_text(encoding="utf-8"), is_package))
    return modules


# --- imports --------------------------------------------------------------------------------------------
class _Imports(ast.NodeVisitor):
    """Collects imports: also inside functions, under ``TYPE_CHECKING``, through ``import_module``."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.inside: tuple[str, ...] = ()
        self.typing_only = False
        self.found: list[Import] = []

    def _add(self, target: str, line: int) -> None:
        self.found.append(Import(target, line, self.inside, self.typing_only))

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._add(alias.name, node.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        base = _absolute(self.module, node)
        if base in (PACKAGE, ""):  # `from workbench import x`, `from . import x` at the top: x is the module
            for alias in node.names:
                self._add(f"{base}.{alias.name}" if base else alias.name, node.lineno)
        else:
            self._add(base, node.lineno)

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        first = node.args[0] if node.args else None
        if called in ("import_module", "__import__") and isinstance(first, ast.Constant):
            self._add(str(first.value), node.lineno)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        before = self.typing_only
        self.typing_only = before or "TYPE_CHECKING" in ast.unparse(node.test)
        for child in node.body:
            self.visit(child)
        self.typing_only = before
        for child in node.orelse:
            self.visit(child)

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        before = self.inside
        self.inside = (*before, node.name)
        self.generic_visit(node)
        self.inside = before

    visit_FunctionDef = visit_AsyncFunctionDef = _visit_function


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    """The dotted name that a ``from`` import starts at, relative ones resolved."""
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    kept = parts[: len(parts) - node.level + (1 if module.is_package else 0)]
    return ".".join([*kept, *(node.module or "").split(".")]).rstrip(".")


def imports(module: Module) -> list[Import]:
    visitor = _Imports(module)
    visitor.visit(ast.parse(module.source))
    return visitor.found


def direction_errors(module: Module) -> Iterator[str]:
    """Imports that point down the house, and imports of ``ep`` where it is closed."""
    here = module.layer
    if here in ("", "__main__"):
        return  # the package itself hands out names lazily; __main__ starts the command line
    if here not in LAYERS:
        yield f"{module.name}: {here!r} has no place in the list of layers"
        return
    for found in imports(module):
        there = layer_of(found.target)
        if found.target.split(".")[0] != PACKAGE or there == here or there.startswith("__"):
            continue
        where = f"{module.name}:{found.line} imports {found.target}"
        if there not in LAYERS:
            yield f"{where}: take names from the module that defines them"
        elif there in ("viz", "widgets") and (found.in_a_face or found.typing_only):
            continue  # the annotation of a face may name what it returns
        elif LAYERS.index(there) > LAYERS.index(here):
            yield f"{where}: {there} lies below {here}"
        elif there == "ep" and here in CLOSED_TO_EP:
            yield f"{where}: ep is closed to {here}"
        elif here == "widgets" and there not in WIDGETS_MAY_IMPORT:
            yield f"{where}: a widget shows results only"


def placement_errors(module: Module) -> Iterator[str]:
    """Libraries that are imported where they do not belong, or too early."""
    layer = module.layer
    for found in imports(module):
        library = found.target.split(".")[0]
        where = f"{module.name}:{found.line} imports {found.target}"
        if found.typing_only:
            continue
        if library in NOTEBOOK_ONLY and layer != "widgets":
            yield f"{where}: only widgets may"
        elif library == "matplotlib" and layer not in ("viz", "widgets"):
            yield f"{where}: only viz and widgets may"
        elif library == "onnxruntime" and layer == "analysis":
            yield f"{where}: analysis runs nothing"
        elif library in HEAVY - {"matplotlib"} and found.runs_at_import:
            yield f"{where} at the top: only inside a function"


def import_star_errors(module: Module) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.source)):
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            yield f"{module.name}:{node.lineno} imports *: say which names"


# --- branches on a provider's name ------------------------------------------------------------------------
_ASKING_METHODS = {"startswith", "endswith", "get", "pop", "setdefault", "index", "count", "removeprefix"}


def _names_in(node: ast.AST | None) -> set[str]:
    """Provider names written in an expression, also as elements of a literal tuple, list or set."""
    if isinstance(node, ast.Constant):
        return {node.value} & EP_NAMES if isinstance(node.value, str) else set()
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return set().union(*(_names_in(element) for element in node.elts))
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("frozenset", "set", "tuple", "list"):
        return set().union(*(_names_in(argument) for argument in node.args))
    return set()


def _asks_for(node: ast.AST) -> set[str]:
    """Provider names that this node compares with, looks up or keys by."""
    if isinstance(node, ast.Compare):
        return set().union(*(_names_in(side) for side in (node.left, *node.comparators)))
    if isinstance(node, ast.Dict):
        return set().union(*(_names_in(key) for key in node.keys))
    if isinstance(node, ast.MatchValue):
        return _names_in(node.value)
    if isinstance(node, ast.Subscript):
        return _names_in(node.slice)
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _ASKING_METHODS:
        return set().union(*(_names_in(argument) for argument in node.args))
    return set()


def ep_name_errors(module: Module) -> Iterator[str]:
    """Comparisons, look-ups and keys with an execution provider's name, outside ``ep``.

    A default in a signature or an argument of a call is no branch and is allowed.
    """
    if module.layer == "ep":
        return
    for node in ast.walk(ast.parse(module.source)):
        for name in sorted(_asks_for(node)):
            line = getattr(node, "lineno", 0)
            yield f"{module.name}:{line} asks for the execution provider {name!r}: ask for a fact"


# --- files ------------------------------------------------------------------------------------------------
def size_errors(root: Path) -> Iterator[str]:
    """Python and JavaScript files with more than 400 lines."""
    for path in sorted([*root.rglob("*.py"), *root.rglob("*.js")]):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > MAX_LINES:
            yield f"{path.relative_to(root.parent)} has {lines} lines, at most {MAX_LINES} are allowed"


def modules_directly_in(modules: list[Module], package: str) -> list[Module]:
    """The public modules (no leading underscore) directly in a package."""
    depth = package.count(".") + 1
    return [
        m for m in modules
        if m.name.startswith(package + ".") and m.name.count(".") == depth
        and not m.is_package and not m.name.rsplit(".", 1)[1].startswith("_")
    ]  # fmt: skip
