"""From bytes to plain data: YAML and JSON, with positions, duplicate keys found, and bounds on everything."""

from workbench.metadata.reading.loaded import Loaded, Syntax
from workbench.metadata.reading.source import FILE_NAMES, Source, load

__all__ = ["FILE_NAMES", "Loaded", "Syntax", "Source", "load"]
