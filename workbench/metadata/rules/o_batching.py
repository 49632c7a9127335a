"""Group O."""
