"""EP Workbench: inspect what ONNX Runtime's execution providers need of a transformer's graph."""

__version__ = "0.1.0"
