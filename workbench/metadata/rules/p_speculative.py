"""Group P."""
