"""Ratios measured in one run, on one machine; never part of the tests."""
