"""Folders that were made for other clients, described as workflows: one way, with every loss named."""

from __future__ import annotations

from workbench.importing.entries import ConfigEntry
from workbench.importing.importer import import_genai_config
from workbench.importing.result import GenaiImport

__all__ = ["ConfigEntry", "GenaiImport", "import_genai_config"]
