"""What a file is that should have been ONNX and is not, in words that help."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import onnx_ir as ir

from workbench.errors import ArgumentError, root_cause

if TYPE_CHECKING:
    import onnx

_MAGIC = (
    (b"GGUF", "It is a GGUF file: give it to build(), which makes graphs of it."),
    (b"version https://git-lfs", "It is a Git LFS pointer, not the file: run `git lfs pull` where it comes from."),
    (b"\x89HDF", "It is an HDF5 file. Export the model to ONNX first."),
    (b"PK\x03\x04", "It is a zip archive (PyTorch saves such). Export the model to ONNX first."),
    (b"\x80", "It is a pickle (PyTorch saves such). Export the model to ONNX first."),
    (b"<!DOCTYPE", "It is a web page, not the file. Fetch it again."),
    (b"<html", "It is a web page, not the file. Fetch it again."),
    (b"<", "It begins like ONNX's text form: name it .onnxtxt."),
    (b"ir_version:", "It begins like protobuf's text form: name it .textproto."),
)
_AGAIN = "Fetch or export the file again."


def words(error: BaseException) -> str:
    """A parser's complaint on one line: the first of a chain, for the rest wraps it in the whole of a graph."""
    while error.__cause__ is not None:
        error = error.__cause__
    first = error.args[0] if error.args else ""
    text = first.decode("utf-8", "replace") if isinstance(first, bytes) else str(error)
    return (" ".join(text.split()) or type(error).__name__)[:300].rstrip(".")


def hint(path: Path, text: bool) -> str:
    """What the file is by its first bytes, and what to do; ``text`` where it was read as text."""
    try:
        with open(path, "rb") as file:
            head = file.read(64)
    except OSError:
        return _AGAIN
    if not head.strip():
        return f"It is empty. {_AGAIN}"
    if path.suffix.lower() == ".safetensors":
        return "It holds weights alone: give its folder, with config.json, to build()."
    if text and b"\x08" in head[:2]:
        return "It begins like ONNX's binary form: name it .onnx."
    found = next((what for magic, what in _MAGIC if head.lstrip().startswith(magic)), _AGAIN)
    return _AGAIN if text and found.endswith(f"name it {path.suffix.lower()}.") else found


def of_proto(argument: str, proto: onnx.ModelProto) -> ir.Model:
    """The model of a proto.

    Raises:
        ArgumentError: it holds what cannot be read, a sparse weight say; the text names the argument.
    """
    try:
        return ir.from_proto(proto)
    except Exception as error:  # the deserializer's errors share no base
        raise ArgumentError(f"{argument} is not a usable ModelProto: {root_cause(error)}.") from error
