"""Group E."""
