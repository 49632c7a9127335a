"""Group M."""
