"""Pictures of results: matplotlib figures without state, and the report as one HTML file."""
