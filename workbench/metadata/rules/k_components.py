"""Group K."""
