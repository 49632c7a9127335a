"""The layout of docs/architecture.md, held against the source; each check is seen to fail as well."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import architecture as arch

ROOT = Path(__file__).resolve().parent.parent / arch.PACKAGE
MODULES = arch.read_package(ROOT)
# Loaded by `import workbench` they would make every start slow: libraries that only some functions need.
NOT_AT_IMPORT = ("torch", "transformers", "pandas", "matplotlib", "onnxruntime", "ipywidgets")
# Nor may the verbs load what only building needs: their import is held against onnxscript's (docs/benchmarks.md).
VERBS = "from workbench import build, compare, optimize"
NOT_WITH_THE_VERBS = (
    *NOT_AT_IMPORT, "onnxscript",
    *(f"workbench.{name}" for name in (
        "components", "models", "package", "recipe", "tasks", "rules.builtin", "rules.fuse", "rules.lower",
    )),
)  # fmt: skip
MODULES_WITH_THE_VERBS = 65
# The record that family files fill in, and no family itself.
NO_FAMILY = {"spec", "weight_table"}

Check = Callable[[arch.Module], Iterator[str]]
CHECKS: tuple[Check, ...] = (
    arch.direction_errors,
    arch.placement_errors,
    arch.import_star_errors,
    arch.ep_name_errors,
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_no_module_breaks(check: Check) -> None:
    assert MODULES, f"no modules below {ROOT}"
    assert [error for module in MODULES for error in check(module)] == []


def test_every_file_is_a_small_room() -> None:
    assert list(arch.size_errors(ROOT)) == []


@pytest.mark.parametrize("stage", ["fuse", "lower"])
def test_every_rule_file_has_its_row(stage: str) -> None:
    from workbench.rules import RULES

    files = {m.name for m in arch.modules_directly_in(MODULES, f"workbench.rules.{stage}")}
    rows = {rule.rewrite.__module__ for rule in RULES}
    assert files, f"no rules in workbench/rules/{stage}"
    assert files - rows == set(), "rule files without a row in workbench.rules.RULES"
    for rule in RULES:
        if rule.rewrite.__module__ in files:
            stem = rule.rewrite.__module__.rsplit(".", 1)[1]
            assert rule.name.rsplit("/", 1)[-1] == stem, "a rule is called as its file is"


def test_every_family_file_has_its_spec_registered() -> None:
    from workbench.models import SPECS

    registered = {id(spec) for spec in SPECS}
    files = {m.name for m in arch.modules_directly_in(MODULES, "workbench.models")}
    families = sorted(files - {f"workbench.models.{name}" for name in NO_FAMILY})
    assert families, "no family in workbench/models"
    for family in families:
        spec = getattr(importlib.import_module(family), "SPEC", None)
        assert spec is not None, f"{family} binds no SPEC"
        assert id(spec) in registered, f"{family}.SPEC is not in workbench.models.SPECS"
    assert len(SPECS) == len({spec.model_type for spec in SPECS}), "a model_type stands twice in SPECS"


def test_every_public_name_is_there() -> None:
    import workbench

    assert len(workbench.__all__) == len(set(workbench.__all__)), "a name stands twice in __all__"
    for name in workbench.__all__:
        assert getattr(workbench, name) is not None
    assert set(workbench.__all__) <= set(dir(workbench))


def test_names_fixed_for_users_are_public() -> None:
    import workbench

    fixed = {
        "build", "build_from_module", "load", "histogram", "optimize", "compare", "WorkbenchError", "Package",
        "Comparison", "OpHistogram", "Optimized",
    }  # fmt: skip
    assert fixed - set(workbench.__all__) == set()


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = f"import sys, workbench; print([m for m in {NOT_AT_IMPORT!r} if m in sys.modules])"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def _fresh(code: str) -> list[str]:
    """What a new interpreter prints, a list of text."""
    command = [sys.executable, "-c", f"import json, sys, workbench\n{code}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found: list[str] = json.loads(done.stdout)
    return found


def test_importing_the_verbs_loads_what_they_start_with_and_no_more() -> None:
    loaded = _fresh(f"{VERBS}\nprint(json.dumps(list(sys.modules)))")
    early = [m for m in loaded if any(f"{m}.".startswith(f"{name}.") for name in NOT_WITH_THE_VERBS)]
    assert early == []
    ours = [m for m in loaded if m.split(".")[0] == "workbench"]
    assert 0 < len(ours) <= MODULES_WITH_THE_VERBS, sorted(ours)


def test_what_is_loaded_late_is_found() -> None:
    """The rules, a family, and the verbs, which stay functions when modules of their names come in."""
    code = f"""{VERBS}
from workbench import rules
listed = "RULES" in dir(rules) and "RULES" not in vars(rules)
made = build({{"model_type": "bert", "vocab_size": 32, "hidden_size": 32, "intermediate_size": 32,
    "num_hidden_layers": 1, "num_attention_heads": 2}}, execution_provider="cpu", load_weights=False)
import workbench.build, workbench.check, workbench.compare, workbench.optimize
verbs = [workbench.build, workbench.check, workbench.compare, workbench.optimize]
print(json.dumps([str(listed), *(type(verb).__name__ for verb in verbs), *(rule.rule for rule in made.report.rules)]))
"""
    listed, *found = _fresh(code)
    assert (listed, found[:4]) == ("True", ["function"] * 4)
    assert "fuse/mha" in found[4:]


def test_a_name_that_rules_lacks_is_no_attribute() -> None:
    from workbench import rules

    with pytest.raises(AttributeError, match="module 'workbench.rules' has no attribute 'RULE'"):
        _ = rules.RULE


# --- the checks, seen to fail ---------------------------------------------------------------------------
def _module(name: str, source: str, is_package: bool = False) -> arch.Module:
    return arch.Module(name, source, is_package)


BAD = {
    "down the house": (
        arch.direction_errors, "workbench.analysis.matches", "from workbench.build import build",
        "workbench.analysis.matches:1 imports workbench.build: build lies below analysis",
    ),
    "down the house, inside a function": (
        arch.direction_errors, "workbench.rules.base", "def f():\n    import workbench.package",
        "workbench.rules.base:2 imports workbench.package: package lies below rules",
    ),
    "down the house, relative": (
        arch.direction_errors, "workbench.rules.fuse.gqa", "from ...optimize import plan",
        "workbench.rules.fuse.gqa:1 imports workbench.optimize: optimize lies below rules",
    ),
    "down the house, relative, from a package": (
        arch.direction_errors, "workbench.rules", "from ..runtime.ort import run",
        "workbench.rules:1 imports workbench.runtime.ort: runtime lies below rules",
    ),
    "down the house, for typing": (
        arch.direction_errors, "workbench.config.source",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from workbench.build import B",
        "workbench.config.source:3 imports workbench.build: build lies below config",
    ),
    "down the house, through import_module": (
        arch.direction_errors, "workbench.ep.cpu",
        "import importlib\nimportlib.import_module('workbench.compare')",
        "workbench.ep.cpu:2 imports workbench.compare: compare lies below ep",
    ),
    "ep from a closed room": (
        arch.direction_errors, "workbench.components.attention", "from workbench import ep",
        "workbench.components.attention:1 imports workbench.ep: ep is closed to components",
    ),
    "a public name from the package": (
        arch.direction_errors, "workbench.cli", "from workbench import Comparison",
        "workbench.cli:1 imports workbench.Comparison: take names from the module that defines them",
    ),
    "no place in the list": (
        arch.direction_errors, "workbench.helpers", "x = 1",
        "workbench.helpers: 'helpers' has no place in the list of layers",
    ),
    "viz outside a face": (
        arch.direction_errors, "workbench.analysis.histogram",
        "class H:\n    def to_frame(self):\n        from workbench.viz import ops",
        "workbench.analysis.histogram:3 imports workbench.viz: viz lies below analysis",
    ),
    "a widget into the engine": (
        arch.direction_errors, "workbench.widgets.panel", "from workbench.rules import RULES",
        "workbench.widgets.panel:1 imports workbench.rules: a widget shows results only",
    ),
    "notebook library": (
        arch.placement_errors, "workbench.viz.ops", "def f():\n    from IPython.display import display",
        "workbench.viz.ops:2 imports IPython.display: only widgets may",
    ),
    "matplotlib in a result": (
        arch.placement_errors, "workbench.analysis.parity", "def plot():\n    import matplotlib",
        "workbench.analysis.parity:2 imports matplotlib: only viz and widgets may",
    ),
    "torch at the top": (
        arch.placement_errors, "workbench.weights.load", "import torch.nn",
        "workbench.weights.load:1 imports torch.nn at the top: only inside a function",
    ),
    "pandas in a class body": (
        arch.placement_errors, "workbench.compare", "class C:\n    import pandas as pd",
        "workbench.compare:2 imports pandas at the top: only inside a function",
    ),
    "analysis runs": (
        arch.placement_errors, "workbench.analysis.parity", "def f():\n    import onnxruntime",
        "workbench.analysis.parity:2 imports onnxruntime: analysis runs nothing",
    ),
    "star": (
        arch.import_star_errors, "workbench.types", "from typing import *",
        "workbench.types:1 imports *: say which names",
    ),
    "==": (
        arch.ep_name_errors, "workbench.build", "if ep.name == 'webgpu': pass",
        "workbench.build:1 asks for the execution provider 'webgpu': ask for a fact",
    ),
    "in": (
        arch.ep_name_errors, "workbench.cli", "x = ep in ('default', 'cuda')",
        "workbench.cli:1 asks for the execution provider 'cuda': ask for a fact",
    ),
    "in frozenset": (
        arch.ep_name_errors, "workbench.cli", "x = ep in frozenset({'dml'})",
        "workbench.cli:1 asks for the execution provider 'dml': ask for a fact",
    ),
    "dict key": (
        arch.ep_name_errors, "workbench.viz.ops", "COLOURS = {'trt-rtx': '#000'}",
        "workbench.viz.ops:1 asks for the execution provider 'trt-rtx': ask for a fact",
    ),
    "match": (
        arch.ep_name_errors, "workbench.optimize", "match ep:\n    case 'cpu' | 'x':\n        pass",
        "workbench.optimize:2 asks for the execution provider 'cpu': ask for a fact",
    ),
    "subscript": (
        arch.ep_name_errors, "workbench.optimize", "x = table['onnx-standard']",
        "workbench.optimize:1 asks for the execution provider 'onnx-standard': ask for a fact",
    ),
    "startswith": (
        arch.ep_name_errors, "workbench.runtime.ort", "x = ep.startswith('dml')",
        "workbench.runtime.ort:1 asks for the execution provider 'dml': ask for a fact",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_bad_module_is_seen(case: str) -> None:
    check, name, source, sentence = BAD[case]
    package = name in ("workbench.rules",)
    assert list(check(_module(name, source, package))) == [sentence]


GOOD = {
    "up the house": ("workbench.compare", "from workbench.build import build\nfrom . import errors"),
    "within a layer": ("workbench.ep.dml", "from workbench.ep.base import Kernel\nfrom .base import Kernel"),
    "faces": (
        "workbench.analysis.histogram",
        "class H:\n"
        "    def plot(self):\n        from workbench.viz import ops\n"
        "    def widget(self):\n        from workbench.widgets import ops\n"
        "    def _repr_mimebundle_(self, **kw):\n        from workbench.viz import ops\n",
    ),
    "the type of a face": (
        "workbench.compare",
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import pandas\n    from workbench.viz import Figure",
    ),
    "heavy inside a function": ("workbench.runtime.ort", "def run():\n    import onnxruntime, pandas"),
    "a default in a signature": ("workbench.build", "def build(m, execution_provider='cpu'): f('cpu')"),
    "facts inside ep": ("workbench.ep.registry", "EPS = {'cpu': 1}\nx = name == 'cpu'"),
    "lazy names of the package": (
        "workbench",
        "def __getattr__(name):\n    import importlib\n    return importlib.import_module('workbench.cli')",
    ),
    "other words": ("workbench.cli", "x = verb == 'compare' or 'gpu' in name"),
}  # fmt: skip


@pytest.mark.parametrize("case", GOOD)
def test_a_good_module_passes(case: str) -> None:
    name, source = GOOD[case]
    module = _module(name, source, is_package=name == "workbench")
    assert [error for check in CHECKS for error in check(module)] == []


def test_a_long_file_is_seen(tmp_path: Path) -> None:
    package = tmp_path / "workbench"
    (package / "static").mkdir(parents=True)
    (package / "short.py").write_text("x = 1\n" * 400)
    (package / "static" / "long.js").write_text("let x;\n" * 401)
    assert list(arch.size_errors(package)) == [
        f"{Path('workbench/static/long.js')} has 401 lines, at most 400 are allowed"
    ]


def test_reading_a_package_names_its_modules(tmp_path: Path) -> None:
    package = tmp_path / "workbench"
    (package / "rules" / "fuse").mkdir(parents=True)
    for name in ("__init__", "rules/__init__", "rules/fuse/__init__", "rules/fuse/gqa", "rules/fuse/_walk"):
        (package / f"{name}.py").write_text("")
    modules = arch.read_package(package)
    assert [(m.name, m.layer) for m in modules if m.is_package] == [
        ("workbench", ""), ("workbench.rules", "rules"), ("workbench.rules.fuse", "rules"),
    ]  # fmt: skip
    rules = arch.modules_directly_in(modules, "workbench.rules.fuse")
    assert [m.name for m in rules] == ["workbench.rules.fuse.gqa"]


def test_the_layers_are_those_of_the_documentation() -> None:
    """docs/architecture.md lists the layers in this order, so neither can change alone."""
    page = (ROOT.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", page, re.M)
    assert tuple(re.findall(r"\w+", " ".join(rows))) == arch.LAYERS
