"""Building blocks on ``onnxscript.nn``: blind to providers; standard operators and semantic functions only."""
