"""Group I."""
