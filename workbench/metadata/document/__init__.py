"""The document model of inference metadata: frozen, typed, closed where the format is closed."""

from workbench.metadata.document.root import Document

__all__ = ["Document"]
