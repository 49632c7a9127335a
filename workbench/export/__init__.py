"""Folders for clients: written whole, checked against themselves, run by the client."""

from __future__ import annotations

from workbench.export.exporter import export
from workbench.export.lint_report import LintReport
from workbench.export.linting import lint
from workbench.export.report import ExportReport

__all__ = ["ExportReport", "LintReport", "export", "lint"]
