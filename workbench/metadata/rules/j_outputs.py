"""Group J."""
