"""Inference metadata: one structural workflow per package, typed, checked and explained.

``validate`` names every rule that a document breaks, where it breaks it. The rules stand in ``rules``, one file a
group; ``docs/metadata-rules.md`` lists them.
"""

from workbench.metadata.diagnostic import Diagnostic, Diagnostics
from workbench.metadata.document import Document
from workbench.metadata.reading import Loaded, load
from workbench.metadata.rules import RULES
from workbench.metadata.validation import validate

__all__ = ["RULES", "Diagnostic", "Diagnostics", "Document", "Loaded", "load", "validate"]
