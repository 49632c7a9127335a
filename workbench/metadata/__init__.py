"""Inference metadata: one structural workflow per package, typed, checked and explained.

``validate`` names every rule that a document breaks, where it breaks it. The rules stand in ``rules``, one file a
group; ``docs/metadata-rules.md`` lists them. ``analyses`` say what a document means, ``dialects`` write it the other
way. ``docs/workflow-metadata.md`` explains all of it.
"""

from workbench.metadata.analyses import (
    cache_dependencies,
    check_ports,
    decoder_io,
    derived_capabilities,
    diff,
    opened,
    predicted_islands,
    semantic_identity,
    state_lifetimes,
    value_table,
)
from workbench.metadata.diagnostic import Diagnostic, Diagnostics
from workbench.metadata.dialects import DIALECTS, Conversion, convert, dialect_of, to_json, to_yaml
from workbench.metadata.document import Document
from workbench.metadata.flow import WorkflowMap, workflow_map
from workbench.metadata.reading import Loaded, load
from workbench.metadata.rules import RULES
from workbench.metadata.validation import validate

__all__ = [
    "DIALECTS", "RULES", "Conversion", "Diagnostic", "Diagnostics", "Document", "Loaded", "WorkflowMap",
    "cache_dependencies",
    "check_ports", "convert", "decoder_io", "derived_capabilities", "dialect_of", "diff", "load", "opened",
    "predicted_islands", "semantic_identity", "state_lifetimes", "to_json", "to_yaml", "validate", "value_table",
    "workflow_map",
]  # fmt: skip
