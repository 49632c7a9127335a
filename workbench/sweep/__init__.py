"""Matrices over models, execution providers and dtypes."""
