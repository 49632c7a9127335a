"""Bad input to what describes packages: rows of the table in ``error_rows``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx

from tests.metadata_graphs import graph
from tests.metadata_packages import (
    IDS,
    LOGITS,
    adapter_folder,
    ctc,
    encoder_decoder,
    foreign,
    hybrid,
    own,
    speculative_block,
    speculative_chained,
    vision_language,
)
from tests.unit.error_rows import row, touch
from workbench import errors
from workbench.describe import DescribedPackage, describe

_CTC = {"blank_id": 0, "vocabulary": ["<pad>", "|", "A", "B", "C"]}
_PICTURE: list[Any] = [{"op": "decode_rgb"}]


def read(path: Path, kind: str, graphs: dict[str, onnx.ModelProto], **facts: Any) -> DescribedPackage:
    """A package of graphs in a folder, with these facts alone."""
    path.mkdir(parents=True, exist_ok=True)
    for name, model in graphs.items():
        onnx.save(model, path / f"{name}.onnx")
    return DescribedPackage.read(path, kind=kind, components={name: f"{name}.onnx" for name in graphs}, facts=facts)


def vision(path: Path, **facts: Any) -> object:
    return describe(read(path, "vision-language", vision_language(), **{"eos_token_id": 3, **facts}))


# --- packages ------------------------------------------------------------------------------------------------
row("kind of a package", errors.UnknownNameError, "Unknown kind 'whisper'", "Known: ", "ctc", "encoder-decoder")(
    lambda path: DescribedPackage.read(path, kind="whisper", components={})
)
row("component that is missing", errors.ConfigError, "kind encoder-decoder has a component 'decoder'", "from tokens to",
    "Given: encoder", "Add it: components={'decoder'")(
    lambda path: DescribedPackage.read(path, kind="encoder-decoder", components={"encoder": "encoder.onnx"})
)  # fmt: skip
row("component that is none", errors.UnknownNameError, "Unknown component of the kind ctc 'encoder'", "Known: model")(
    lambda path: DescribedPackage.read(path, kind="ctc", components={"encoder": "encoder.onnx"}, facts=_CTC)
)
row("components of another type", errors.ArgumentError, "components must be a mapping", "found list")(
    lambda path: DescribedPackage.read(path, kind="ctc", components=["a.onnx"], facts=_CTC)
)
row("folder of a described package", errors.ArgumentError, "folder must be a path", "found int 3")(
    lambda path: DescribedPackage.read(3, kind="hybrid", components={"model": "m.onnx"})
)
row("folder that is not there", errors.ModelFileError, "There is no folder", "Give the folder that holds the graphs")(
    lambda path: DescribedPackage.read(path / "none", kind="hybrid", components={"model": "m.onnx"})
)
row("graph outside of its folder", errors.ModelFileError, "graph of 'model' cannot be read", "leaves the folder")(
    lambda path: DescribedPackage.read(path.parent, kind="hybrid", components={"model": "../m.onnx"})
)
row("graph that is text", errors.ModelFileError, "graph of 'model' cannot be read: 'm.onnx'")(
    lambda path: DescribedPackage.read(
        touch(path / "m.onnx", "no graph").parent, kind="hybrid", components={"model": "m.onnx"}
    )
)
row("graph without outputs", errors.ModelFileError, "'m.onnx' holds no graph with outputs")(
    lambda path: DescribedPackage.read(
        touch(path / "m.onnx", b"").parent, kind="hybrid", components={"model": "m.onnx"}
    )
)
row("fact that is missing", errors.ConfigError, "kind ctc cannot be described without the fact 'blank_id'",
    "the class that stands for no character", "Facts given: vocabulary", "facts={'blank_id': ...}")(
    lambda path: read(path, "ctc", ctc(), vocabulary=["a"])
)  # fmt: skip
row("fact that is none", errors.UnknownNameError, "Unknown fact of the kind ctc 'blank'", "Did you mean 'blank_id'?")(
    lambda path: read(path, "ctc", ctc(), **_CTC, blank=1)
)
row("facts of another type", errors.ArgumentError, "facts must be a mapping", "found list")(
    lambda path: describe(own("bert"), facts=["mean"])
)
row("facts where none are asked for", errors.UnknownNameError, "kind decoder takes no facts", "found pooling")(
    lambda path: describe(own("llama"), facts={"pooling": "mean"})
)
row("kind that the graphs are not of", errors.UnsupportedError, "cannot be described as ctc", "input_ids", "logits")(
    lambda path: describe(read(path, "ctc", hybrid(), **_CTC))
)


def spelled(path: Path, heads: Any = 2, scores: str = "float32") -> object:
    """A decoder of another maker, every step of it in graphs of its document."""
    tokens = {"input_ids": ("int64", ["batch", "sequence"])}
    past, present = (
        {f"{side}.0.{role}": ("float32", ["batch", heads, length, 8]) for role in ("key", "value")}
        for side, length in (("past_key_values", "past"), ("present", "past + sequence"))
    )
    logits = {"logits": (scores, ["batch", "sequence", 32])}
    return describe(
        read(path, "decoder", {"model": graph("decoder", tokens | past, logits | present)}), policy="graphs"
    )


row("cache of open sizes in graphs", errors.UnsupportedError, "one empty cache for all layers",
    "'past_key_values.0.key' is ['batch', 'heads', 'past', 8]", "numbers for heads and head size")(
    lambda path: spelled(path, heads="heads")
)  # fmt: skip
row("scores that no small graph reads", errors.UnsupportedError, "reads or makes 'logits', which is DOUBLE",
    "float, float16, bfloat16 are taken", "leave policy out")(
    lambda path: spelled(path, scores="float64")
)  # fmt: skip
row("scores that are whole numbers", errors.UnsupportedError, "The graph's logits is int64 [batch, sequence, 32]",
    "works with a float there", "Export the graph in")(lambda path: spelled(path, scores="int64"))  # fmt: skip
row("document without its graphs", errors.ModelFileError, "lacks graphs of the workflow: model.onnx", "Put them there")(
    lambda path: describe(foreign("ctc", path / "graphs")).save_beside(path)
)
row("document beside nothing", errors.ModelFileError, "There is no folder", "that holds the graphs of the workflow")(
    lambda path: describe(foreign("ctc", path)).save_beside(path / "none")
)
row("document beside a number", errors.ArgumentError, "folder must be a path", "found int 3")(
    lambda path: describe(foreign("ctc", path)).save_beside(3)
)
row("document in the place of another", errors.SaveError, "holds inference_metadata.yaml already", "overwrite=True")(
    lambda path: [describe(foreign("ctc", path)).save_beside(path) for _ in range(2)]
)
row("document for another graph", errors.UnsupportedError, "needs another graph", "(model)", "Use export()")(
    lambda path: describe(own("llama", slots=64)).save_beside(path)
)

# --- kinds ---------------------------------------------------------------------------------------------------
row("encoder without pooling", errors.ConfigError, "without the fact 'pooling'", "one of mean, max, cls, last_token")(
    lambda path: describe(own("bert"))
)
row("pooling that is none", errors.ConfigError, "'pooling' of the kind embedding is 'sum'", "one of mean, max")(
    lambda path: describe(own("bert"), facts={"pooling": "sum"})
)
row("hybrid without an end of text", errors.ConfigError, "without the fact 'eos_token_id'", "that ends a text")(
    lambda path: describe(read(path, "hybrid", hybrid()))
)
row(
    "end of text outside the vocabulary",
    errors.ConfigError,
    "'eos_token_id' of the kind hybrid",
    "is 32",
    "from 0 to 31",
)(lambda path: describe(foreign("hybrid", path, eos_token_id=32)))
row("state that is no port", errors.ConfigError, "'state' of the kind hybrid", "no such pair", "past.0.conv")(
    lambda path: describe(foreign("hybrid", path, state={"past.9.conv": "logits"}))
)
row("words for classes that do not exist", errors.ConfigError, "has 2 texts, the graph scores 5 classes")(
    lambda path: describe(foreign("ctc", path, vocabulary=["<pad>", "|"]))
)
row("blank that is no class", errors.ConfigError, "'blank_id'", "is 5", "a class, 0 to 4")(
    lambda path: describe(foreign("ctc", path, blank_id=5))
)
row("delimiter that is no word", errors.ConfigError, "is '_'", "no text of the vocabulary")(
    lambda path: describe(foreign("ctc", path, word_delimiter="_"))
)
row(
    "vocabulary that is a text",
    errors.ConfigError,
    "'vocabulary'",
    "is 'abc'",
    "the text of each class",
    "instances are not allowed",
)(lambda path: describe(foreign("ctc", path, vocabulary="abc")))
row("decoder that begins with a word", errors.ConfigError, "'decoder_start'", "is 'bos'", "ids of the tokens")(
    lambda path: describe(foreign("encoder-decoder", path, decoder_start="bos"))
)
row("decoder without logits", errors.ConfigError, "must take input_ids", "and give logits", "It has the inputs")(
    lambda path: describe(read(
        path, "encoder-decoder", encoder_decoder() | {"decoder": graph("decoder", IDS, {"scores": LOGITS["logits"]})},
        decoder_start=2, eos_token_id=3,
    ))
)  # fmt: skip
row("decoder that reads nothing of the encoder", errors.ConfigError, "'from_encoder'", "reads nothing of it")(
    lambda path: describe(read(
        path, "encoder-decoder", encoder_decoder() | {"decoder": graph("decoder", IDS, LOGITS)},
        decoder_start=2, eos_token_id=3,
    ))
)  # fmt: skip
row("output that the encoder lacks", errors.ConfigError, "is 'hidden'", "the encoder gives present.0.encoder.key")(
    lambda path: describe(foreign("encoder-decoder", path, from_encoder={"past_key_values.0.encoder.key": "hidden"}))
)
row("picture without a transform", errors.ConfigError, "'contents'", "'pixel_values'", "a transform that makes it")(
    lambda path: vision(path, transforms=[])
)
row("transform without its name", errors.ConfigError, "'transforms'", 'a mapping with the word "op"')(
    lambda path: vision(path, transforms=[{"size": 8}])
)
row("transform with a wrong word", errors.ConfigError, "'transforms'", "tile_size")(
    lambda path: vision(path, transforms=[*_PICTURE, {"op": "tile", "tile_size": 0}])
)
row("embedding of nothing", errors.UnsupportedError, "'embedding.onnx' (embedding) must have one input for features")(
    lambda path: describe(read(
        path, "vision-language", vision_language() | {"embedding": graph("embedding", IDS, LOGITS)},
        transforms=_PICTURE, eos_token_id=3,
    ))
)  # fmt: skip
row("proposal of no width", errors.ConfigError, "'max_proposal_width'", "is 0", "a whole number from 1")(
    lambda path: describe(foreign("speculative", path, max_proposal_width=0))
)
row("vocabulary of a proposer", errors.ConfigError, "'vocabulary'", "the proposer scores 7 tokens, the target 32",
    '"subset"')(
    lambda path: describe(read(
        path, "speculative", speculative_chained() | {"proposer": graph("proposer", IDS, {
            "draft_logits": ("float32", ["batch", "sequence", 7])})}, max_proposal_width=4,
    ))
)  # fmt: skip
row("proposer without its vectors", errors.UnsupportedError, "reads inputs_embeds", "as the component 'embedding'")(
    lambda path: describe(read(
        path, "speculative", {k: v for k, v in speculative_chained().items() if k != "embedding"}, max_proposal_width=4,
        state={"recycled_hidden": "next_hidden"},
    ))
)  # fmt: skip
row("proposer that proposes nothing", errors.UnsupportedError, "gives neither tokens", "nor logits", "It has the")(
    lambda path: describe(read(
        path, "speculative", speculative_block() | {"proposer": graph("proposer", IDS, LOGITS)}, max_proposal_width=4
    ))
)  # fmt: skip
row("part of a proposer that is no port", errors.ConfigError, "'port_bindings'", "no such input", "fused_hidden")(
    lambda path: describe(foreign("speculative-chained", path, port_bindings={"target_hidden_context": "hidden"}))
)
row("adapters that are a list", errors.ConfigError, "'adapters' of the kind lora is []", "it is folders of adapters")(
    lambda path: describe(own("llama"), facts={"adapters": []})
)
row("no adapter", errors.ConfigError, "'adapters' of the kind lora is {}", "name one at least")(
    lambda path: describe(own("llama"), facts={"adapters": {}})
)
row("transforms that are a word", errors.ConfigError, "'transforms'", "is 'resize'", "how a picture becomes")(
    lambda path: vision(path, transforms="resize")
)
row("width that is no number", errors.ConfigError, "'max_proposal_width'", "is '4'", "how many tokens are guessed")(
    lambda path: describe(foreign("speculative", path, max_proposal_width="4"))
)
row("adapter named like a path", errors.ConfigError, "is '../blue'", "becomes a folder below adapters/")(
    lambda path: describe(own("llama"), facts={"adapters": {"../blue": path}})
)
row("adapter without its config", errors.ModelFileError, "holds no adapter", "adapter_config.json cannot be read")(
    lambda path: describe(own("llama"), facts={"adapters": {"blue": path}})
)
row("adapter of another type", errors.ConfigError, "is {'blue': 3}", "blue", "should be")(
    lambda path: describe(own("llama"), facts={"adapters": {"blue": 3}})
)
row("number of adapters", errors.ConfigError, "'max_adapters'", "is 0", "a whole number from 1")(
    lambda path: describe(own("llama"), facts={
        "adapters": {"blue": adapter_folder(path, own("llama"), ["q_proj"])}, "max_adapters": 0})
)  # fmt: skip
