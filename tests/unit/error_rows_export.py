"""Rows of bad input for exported folders: writing, checking and running them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import workbench
from tests.unit.error_rows import row, saved, touch
from tests.unit.export.folders import change_config, exported, package, set_in
from workbench import errors
from workbench.export import export, lint
from workbench.runtime.chat import chat

row("client of another name", errors.UnknownNameError, "Unknown runtime 'onnxruntime_genai'",
    "Did you mean 'onnxruntime-genai'?")(lambda path: exported(path / "x", runtime="onnxruntime_genai"))  # fmt: skip
row("export of a path", errors.ArgumentError, "package must be a Package; found str", "build(), load()")(
    lambda path: export("model", path / "x")
)
row("export to nowhere", errors.ArgumentError, "folder must be a path; found NoneType")(
    lambda path: export(package(), None)
)
row("export of an encoder", errors.UnsupportedError, "runs one decoder", "no configuration of a text generator",
    "Build a text-generation model")(
    lambda path: export(dataclasses.replace(package(), config=None), path / "x")
)  # fmt: skip
row("export without a tokenizer", errors.SaveError, "has no tokenizer", "tokenizer=FOLDER", "tokenizer=False")(
    lambda path: export(dataclasses.replace(package(), source=None), path / "x")
)
row("export over a stranger's folder", errors.SaveError, "is not empty and is not a package", "Choose another folder")(
    lambda path: exported(touch(path / "mine" / "thesis.txt", "x").parent, overwrite=True)
)
row("export over an older one", errors.SaveError, "holds a package already", "Pass overwrite=True")(
    lambda path: (exported(path / "x"), exported(path / "x"))
)
row("export of a skeleton", errors.SaveError, "have no data", "load_weights=True")(
    lambda path: export(
        workbench.build({**dict(package().source.hf)}, load_weights=False), path / "x", tokenizer=False
    )
)  # fmt: skip
row("search option", errors.UnknownNameError, "Unknown search option 'max_tokens'", "Known: ", "max_length")(
    lambda path: exported(path / "x", search={"max_tokens": 3})
)
row("search length", errors.SaveError, "search['max_length'] is 9999", "128 positions", "from 1 to that")(
    lambda path: exported(path / "x", search={"max_length": 9999})
)
row("window of none", errors.UnsupportedError, "window_cache=True: no GroupQueryAttention", "Leave it out")(
    lambda path: exported(path / "x", window_cache=True)
)
row(
    "window elsewhere",
    errors.UnsupportedError,
    "window_cache=True: 'webgpu' has no known kernel",
    "answers are the same",
)(lambda path: exported(path / "x", "webgpu", "float16", windowed=True, window_cache=True))
row("output of none", errors.UnknownNameError, "Unknown value of the graph 'layer_3'", "nearest of")(
    lambda path: exported(path / "x", outputs=["layer_3"])
)
row("lint of nothing", errors.ModelFileError, "nowhere: no such folder")(lambda path: lint(path / "nowhere"))
row("lint of a number", errors.ArgumentError, "folder must be a path; found int")(lambda path: lint(3))
row("chat with nothing", errors.ModelFileError, "is not a folder for onnxruntime-genai", "no such folder", "export()")(
    lambda path: chat(path / "nowhere", "hi")
)
row("chat with a saved package", errors.ModelFileError, "it has no genai_config.json", "export() makes one")(
    lambda path: chat(saved(path), "hi")
)
row("chat of a damaged config", errors.ModelFileError, "genai_config.json cannot be read", "Export the model again")(
    lambda path: chat(touch(path / "x" / "genai_config.json", "{").parent, "hi")
)
row("chat of no tokens", errors.FeedsError, "max_new_tokens is 0; it must be at least 1")(
    lambda path: chat(path, "hi", max_new_tokens=0)
)
row("chat of a number", errors.ArgumentError, "prompt must be a text or a list of messages; found int")(
    lambda path: chat(path, 3)
)
row("chat of half a message", errors.ArgumentError, "each message must be a mapping with the texts role and content")(
    lambda path: chat(path, [{"role": "user"}])
)


def without_the_client(path: Path) -> object:
    """As if the extra were not installed."""
    import sys

    exported(path / "x")
    before = sys.modules.get("onnxruntime_genai")
    sys.modules["onnxruntime_genai"] = None
    try:
        return chat(path / "x", "hi")
    finally:
        if before is None:
            del sys.modules["onnxruntime_genai"]
        else:
            sys.modules["onnxruntime_genai"] = before


row("chat without the client", errors.ExecutionError, "onnxruntime-genai cannot be imported", "Install it",
    "ep-workbench[genai]")(without_the_client)  # fmt: skip

CLIENT_ROWS = ("chat with what the client refuses", "chat of nothing", "chat beyond the context", "chat without words")
"""Rows that need the client itself."""


def _refused(path: Path) -> object:
    exported(path / "x")
    return chat(change_config(path / "x", set_in("model.type", "lama")), "hi")


def _wordless(path: Path) -> object:
    exported(path / "x", tokenizer=False)
    return chat(path / "x", "hi")


def _long(path: Path) -> object:
    exported(path / "x")
    return chat(path / "x", "a" * 200)


def _empty(path: Path) -> object:
    exported(path / "x")
    return chat(path / "x", "")


row(CLIENT_ROWS[0], errors.ExecutionError, "onnxruntime-genai cannot run", "lama", "lint()")(_refused)
row(CLIENT_ROWS[1], errors.FeedsError, "The prompt has no tokens")(_empty)
row(CLIENT_ROWS[2], errors.FeedsError, "The prompt has 200 tokens and the context is 128", "Shorten it")(_long)
row(CLIENT_ROWS[3], errors.FeedsError, "has no tokenizer that the client can read", "export the model with its")(
    _wordless
)
