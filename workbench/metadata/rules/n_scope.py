"""Group N."""
