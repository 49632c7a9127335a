"""Graph diff: what two graphs share, what differs, and which rule explains it."""

from __future__ import annotations

from workbench.analysis.diff.compute import diff
from workbench.analysis.diff.graph_diff import GraphDiff
from workbench.analysis.diff.result import Change, Edge, Entry, Group, LayerRun, NodeInfo, Status
from workbench.analysis.diff.summary import DiffSummary

__all__ = ["Change", "DiffSummary", "Edge", "Entry", "GraphDiff", "Group", "LayerRun", "NodeInfo", "Status", "diff"]
