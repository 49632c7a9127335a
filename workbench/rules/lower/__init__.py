"""Lowerings: one rule a file."""
