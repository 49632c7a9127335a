"""From a package to the workflow that a runtime reads: one file per kind of package.

``WorkflowBuilder`` collects the parts, ``kinds`` say which parts a package has, ``describe`` chooses the kind.
"""

from __future__ import annotations

from workbench.describe.builder import WorkflowBuilder
from workbench.describe.described_package import DescribedPackage
from workbench.describe.describing import describe
from workbench.describe.result import InferenceMetadata

__all__ = ["DescribedPackage", "InferenceMetadata", "WorkflowBuilder", "describe"]
