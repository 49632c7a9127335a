"""Building blocks on ``onnxscript.nn``: blind to execution providers, standard operators and semantic functions only."""
