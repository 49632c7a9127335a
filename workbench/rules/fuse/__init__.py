"""Fusions: one rule a file."""
