"""Group L."""
