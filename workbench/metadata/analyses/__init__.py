"""What a document means beyond right and wrong: values, state, capabilities, a decoder's ABI, caches, identity."""

from workbench.metadata.analyses.cache import CacheDependencies, CacheFact, cache_dependencies
from workbench.metadata.analyses.capabilities import Capabilities, Capability, derived_capabilities
from workbench.metadata.analyses.decoder_io import DecoderIo, decoder_io
from workbench.metadata.analyses.difference import DocumentChange, DocumentDiff, diff
from workbench.metadata.analyses.identity import semantic_identity
from workbench.metadata.analyses.islands import Islands, predicted_islands
from workbench.metadata.analyses.lifetimes import Lifetime, StateLifetimes, state_lifetimes
from workbench.metadata.analyses.opening import opened
from workbench.metadata.analyses.ports import PortReport, PortRow, check_ports
from workbench.metadata.analyses.values import ValueRow, ValueTable, value_table

__all__ = [
    "CacheDependencies", "CacheFact", "Capabilities", "Capability", "DecoderIo", "DocumentChange", "DocumentDiff",
    "Islands", "Lifetime", "PortReport", "PortRow", "StateLifetimes", "ValueRow", "ValueTable", "cache_dependencies",
    "check_ports", "decoder_io", "derived_capabilities", "diff", "opened", "predicted_islands", "semantic_identity",
    "state_lifetimes", "value_table",
]  # fmt: skip
