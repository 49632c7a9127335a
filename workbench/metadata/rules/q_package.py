"""Group Q."""
