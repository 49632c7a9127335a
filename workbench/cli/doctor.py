"""``workbench doctor``: what is installed here, what can run here, and where weights are."""

from __future__ import annotations

import dataclasses
import platform
import re
import sys
from importlib import metadata
from typing import TYPE_CHECKING, Any

from workbench.errors import ExecutionError

if TYPE_CHECKING:
    from rich.console import Console

DISTRIBUTION = "ep-workbench"
FOR_DEVELOPERS = ("browser", "dev", "test")
"""Extras that change nothing about what the workbench can do."""

SCHEMA = """
\b
JSON of --json: python, platform, packages {name: version or null}, optional {name: version or null},
onnxruntime {version, providers}, execution_providers [{name, title, ort_provider, local_kernels}],
cache, builtin_models [{name, path or null}], netron {version, notice}, problems [text].
"""


@dataclasses.dataclass(frozen=True)
class Health:
    """What the doctor found. ``problems`` is empty where everything that the workbench needs is there."""

    python: str
    platform: str
    packages: dict[str, str | None]
    optional: dict[str, str | None]
    onnxruntime: dict[str, Any]
    execution_providers: list[dict[str, Any]]
    cache: str
    builtin_models: list[dict[str, Any]]
    netron: dict[str, str | None]
    problems: list[str]

    def to_dict(self) -> dict[str, Any]:
        """As plain values, in the order of :data:`SCHEMA`."""
        return dataclasses.asdict(self)


def diagnose() -> Health:
    """Look around; nothing is fetched and no model is read."""
    packages, optional = _packages()
    problems = [f"{name} is not installed: pip install {DISTRIBUTION}" for name, v in packages.items() if v is None]
    runtime, trouble = _onnxruntime()
    netron, notice = packages.get("netron"), _netron_notice()
    return Health(
        python=f"{platform.python_version()} ({sys.executable})",
        platform=platform.platform(),
        packages=packages,
        optional=optional,
        onnxruntime=runtime,
        execution_providers=_execution_providers(),
        cache=_cache(),
        builtin_models=_builtin_models(),
        netron={"version": netron, "notice": notice or None},
        problems=problems + ([trouble] if trouble else []) + ([notice] if notice else []),
    )


def _packages() -> tuple[dict[str, str | None], dict[str, str | None]]:
    """Versions of what the workbench needs and of what its extras bring."""
    core: dict[str, str | None] = {DISTRIBUTION: _version(DISTRIBUTION)}
    extras: dict[str, str | None] = {}
    for requirement in metadata.requires(DISTRIBUTION) or ():
        name = re.split(r"[\s<>=!~;\[(]", requirement, maxsplit=1)[0]
        extra = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", requirement)
        if extra is None:
            core[name] = _version(name)
        elif extra[1] not in FOR_DEVELOPERS and name != DISTRIBUTION:
            extras[name] = _version(name)
    return core, extras


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _onnxruntime() -> tuple[dict[str, Any], str]:
    """What ONNX Runtime says of itself, and why it cannot be used."""
    try:
        import onnxruntime as ort

        return {"version": ort.__version__, "providers": list(ort.get_available_providers())}, ""
    except Exception as error:  # a broken binary raises what it likes
        return {"version": None, "providers": []}, f"onnxruntime cannot be imported: {error}"


def _execution_providers() -> list[dict[str, Any]]:
    from workbench.ep import execution_providers, get_ep

    found = [get_ep(name) for name in execution_providers()]
    return [
        {"name": ep.name, "title": ep.title, "ort_provider": ep.ort_provider or None, "local_kernels": ep.local_kernels}
        for ep in found
    ]


def _cache() -> str:
    from workbench.config.files import cache_dir

    return str(cache_dir())


def _builtin_models() -> list[dict[str, Any]]:
    from workbench.config.builtin import builtin_names, find

    return [{"name": name, "path": _text(find(name))} for name in builtin_names()]


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _netron_notice() -> str:
    from workbench.widgets.netron import age_notice

    try:
        return age_notice()
    except (OSError, ValueError, ExecutionError) as error:
        return f"Netron's age is not known: {error}"


def show_health(console: Console, health: Health) -> None:
    """The same as tables."""
    from workbench.cli.tables import show

    console.print(f"Python {health.python} on {health.platform}")
    versions = [[name, version or "missing"] for name, version in health.packages.items()]
    versions += [[name, version or "not installed (optional)"] for name, version in health.optional.items()]
    show(console, "Packages", ["package", "version"], versions)
    rows = [
        [ep["name"], ep["title"], ep["ort_provider"] or "-", "yes" if ep["local_kernels"] else "no"]
        for ep in health.execution_providers
    ]
    show(console, "Execution providers", ["name", "title", "ONNX Runtime's name", "kernels here"], rows)
    console.print(f"ONNX Runtime offers {', '.join(health.onnxruntime['providers']) or 'nothing'}")
    console.print(f"Cache: {health.cache}")
    for model in health.builtin_models:
        console.print(f"Built-in model {model['name']}: {model['path'] or 'not here yet, fetched when first used'}")
    for problem in health.problems:
        console.print(f"Problem: {problem}")
    if not health.problems:
        console.print("No problems found.")
