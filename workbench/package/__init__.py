"""A package: the graphs of one model for one execution provider, with what made them; saved and loaded whole."""

from __future__ import annotations

from workbench.package.loading import load
from workbench.package.manifest import FileRecord, Manifest
from workbench.package.package import Package

__all__ = ["FileRecord", "Manifest", "Package", "load"]
