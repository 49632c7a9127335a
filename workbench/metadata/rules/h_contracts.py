"""Group H."""
