"""A small package of every kind that can be described: our own families where they are built, else graphs by hand.

Graphs of families that are not built have the ports that exporters give them; see ``tests.metadata_graphs``.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models

from tests.golden_ops import words
from tests.metadata_graphs import Ports, graph
from workbench.config.source import SourceConfig
from workbench.describe import DescribedPackage, InferenceMetadata
from workbench.describe.result import FILE
from workbench.ep import get_ep
from workbench.metadata import to_yaml
from workbench.models import lookup
from workbench.package import Package
from workbench.recipe import Recipe
from workbench.tasks import get_task
from workbench.types import GraphOptions

VOCAB, HEADS, WIDTH, HIDDEN, LAYERS = 32, 2, 8, 16, 3
ATTENTION_LAYER = 2
"""Of the three layers of the hybrid the last attends, the others keep a convolution."""


def own(family: str, ep: str = "default", tokenizer: Path | None = None, slots: int | None = None) -> Package:
    """A small package of a family that the workbench builds, with zeros as weights; ``slots`` of a fixed cache."""
    spec = lookup(family)
    recipe = Recipe(spec.module, spec.read(words(spec)), get_task(spec.task))
    package = recipe.package(get_ep(ep), ir.DataType.FLOAT, variant=GraphOptions(cache_length=slots))
    for value in package.model.graph.initializers.values():
        if value.const_value is None:
            value.const_value = ir.tensor(np.zeros(value.shape.numpy(), value.dtype.numpy()), name=value.name)
    source = SourceConfig(f"tiny-{family}", family, {}, "folder", tokenizer=tokenizer)
    return dataclasses.replace(package, source=source)


def tokenizer_folder(folder: Path, size: int = 96) -> Path:
    """A folder with a tokenizer of words; ids 0 to 3 are those that configs take for pad, bos and eos."""
    folder.mkdir(parents=True, exist_ok=True)
    special = ["<pad>", "<s>", "</s>", "<unk>"]
    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(special + [f"w{n}" for n in range(4, size)])},
                                      unk_token="<unk>"))  # fmt: skip
    made.add_special_tokens(special)
    made.save(str(folder / "tokenizer.json"))
    return folder


def cache(layers: int | list[int], length: str = "past", before: str = "past_key_values.", words: str = "") -> Ports:
    """Key and value ports of layers."""
    shape = ["batch", HEADS, length, WIDTH]
    numbers = range(layers) if isinstance(layers, int) else layers
    return {f"{before}{i}.{words}{role}": ("float32", list(shape)) for i in numbers for role in ("key", "value")}


def grown(layers: int | list[int], words: str = "", add: str = "sequence") -> Ports:
    return cache(layers, f"past + {add}", "present.", words)


IDS: Ports = {"input_ids": ("int64", ["batch", "sequence"])}
MASK: Ports = {"attention_mask": ("int64", ["batch", "past + sequence"])}
POSITIONS: Ports = {"position_ids": ("int64", ["batch", "sequence"])}
EMBEDS: Ports = {"inputs_embeds": ("float32", ["batch", "sequence", HIDDEN])}
LOGITS: Ports = {"logits": ("float32", ["batch", "sequence", VOCAB])}


def hybrid() -> dict[str, onnx.ModelProto]:
    """Layers 0 and 1 keep the last three columns of a convolution, layer 0 an accumulator too; layer 2 attends."""
    column, memory = ["batch", HIDDEN, 3], ["batch", HEADS, WIDTH, WIDTH]
    past = {f"past.{i}.conv": ("float32", column) for i in (0, 1)} | {"past.0.recurrent": ("float32", memory)}
    after = {name.replace("past", "present"): port for name, port in past.items()}
    attends = [ATTENTION_LAYER]
    inputs = {**IDS, **MASK, **POSITIONS, **past, **cache(attends)}
    return {"model": graph("hybrid", inputs, {**LOGITS, **after, **grown(attends)})}


def encoder_decoder(layers: int = 2) -> dict[str, onnx.ModelProto]:
    """The encoder gives keys and values for every layer of the decoder, which reads them only."""
    source: Ports = {"input_ids": ("int64", ["batch", "source"]), "attention_mask": ("int64", ["batch", "source"])}
    given = cache(layers, "source", "present.", "encoder.")
    borrowed = cache(layers, "source", words="encoder.")
    mask: Ports = {"encoder_attention_mask": ("int64", ["batch", "source"])}
    inputs = {**IDS, **mask, **cache(layers, words="decoder."), **borrowed}
    return {
        "encoder": graph("encoder", source, given),
        "decoder": graph("decoder", inputs, {**LOGITS, **grown(layers, "decoder.")}),
    }


def ctc() -> dict[str, onnx.ModelProto]:
    """One frame for four samples, five classes."""
    samples: Ports = {name: (dtype, ["batch", "samples"]) for name, dtype in
                      (("input_values", "float32"), ("attention_mask", "int64"))}  # fmt: skip
    outputs: Ports = {
        "logits": ("float32", ["batch", ("frames", "samples // 4"), 5]), "frame_lengths": ("int64", ["batch"]),
    }  # fmt: skip
    return {"model": graph("ctc", samples, outputs)}


def vision_language(layers: int = 2) -> dict[str, onnx.ModelProto]:
    """Pictures of 8 by 8, four features each."""
    pixels: Ports = {"pixel_values": ("float32", ["images", 3, 8, 8])}
    features: Ports = {"image_features": ("float32", [("image_tokens", "images + images + images + images"), HIDDEN])}
    taken: Ports = {"image_features": ("float32", ["image_tokens", HIDDEN])}
    return {
        "vision": graph("vision", pixels, features),
        "embedding": graph("embedding", {**IDS, **taken}, EMBEDS),
        "decoder": graph("decoder", {**EMBEDS, **MASK, **POSITIONS, **cache(layers)}, {**LOGITS, **grown(layers)}),
    }


def speculative_block(width: int = 4) -> dict[str, onnx.ModelProto]:
    """A proposer of one layer that gives ``width`` tokens, a target of two."""
    proposal: Ports = {"draft_tokens": ("int64", ["batch", width])}
    return {
        "proposer": graph("proposer", {**IDS, **cache(1)}, {**proposal, **grown(1)}),
        "target": graph("target", {**IDS, **cache(2)}, {**LOGITS, **grown(2)}),
    }


def speculative_chained() -> dict[str, onnx.ModelProto]:
    """A proposer that reads a token's vector, the target's hidden state and what it said before."""
    hidden = ["batch", "sequence", HIDDEN]
    inputs = {
        **EMBEDS,
        "fused_hidden": ("float32", ["batch", "context", HIDDEN]),
        "recycled_hidden": ("float32", ["batch", 1, HIDDEN]),
    }
    outputs: Ports = {"draft_logits": ("float32", ["batch", "sequence", VOCAB]),
                      "next_hidden": ("float32", ["batch", 1, HIDDEN])}  # fmt: skip
    return {
        "embedding": graph("embedding", IDS, EMBEDS),
        "proposer": graph("proposer", {**inputs, **cache(1)}, {**outputs, **grown(1)}),
        "target": graph("target", {**IDS, **cache(2)}, {**LOGITS, "hidden_states": ("float32", hidden), **grown(2)}),
    }


TRANSFORMS = [
    {"op": "decode_rgb"}, {"op": "resize", "size": {"width": 8, "height": 8}, "interpolation": "bicubic"},
    {"op": "rescale", "scale": 1 / 255}, {"op": "normalize", "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]},
]  # fmt: skip
VISION_FACTS = {"transforms": TRANSFORMS, "eos_token_id": 3, "image_token_id": 4}
CTC_FACTS = {"blank_id": 0, "vocabulary": ["<pad>", "|", "A", "B", "C"], "word_delimiter": "|",
             "ignored_tokens": ["<pad>"], "sample_rate": 16000, "normalize": True}  # fmt: skip
CHAINED_FACTS = {"max_proposal_width": 4, "distribution_preserving": True, "state": {"recycled_hidden": "next_hidden"},
                 "port_bindings": {"target_hidden_context": "fused_hidden"}}  # fmt: skip
FOREIGN: dict[str, tuple[str, Callable[[], dict[str, onnx.ModelProto]], dict[str, Any]]] = {
    "hybrid": ("hybrid", hybrid, {"eos_token_id": 3}),
    "encoder-decoder": ("encoder-decoder", encoder_decoder, {"decoder_start": 2, "eos_token_id": 3}),
    "ctc": ("ctc", ctc, CTC_FACTS),
    "vision-language": (
        "vision-language",
        vision_language,
        {"transforms": TRANSFORMS, "eos_token_id": 3, "image_token_id": 4},
    ),
    "speculative": ("speculative", speculative_block, {"max_proposal_width": 4, "distribution_preserving": True}),
    "speculative-chained": ("speculative", speculative_chained, CHAINED_FACTS),
}
"""Kind, graphs and facts by the name of the golden document."""


def foreign(name: str, folder: Path, **facts: Any) -> DescribedPackage:
    """A package of a family that is not built, its graphs in a folder."""
    kind, make, said = FOREIGN[name]
    folder.mkdir(parents=True, exist_ok=True)
    graphs = make()
    tokenizer_folder(folder, VOCAB)
    for key, model in graphs.items():
        onnx.save(model, folder / f"{key}.onnx")
    return DescribedPackage.read(
        folder, kind=kind, components={key: f"{key}.onnx" for key in graphs}, facts={**said, **facts}
    )


def adapter_folder(folder: Path, package: Package, modules: list[str], rank: int = 4, **words: Any) -> Path:
    """An adapter as PEFT saves one, for modules of a package's configuration such as ``q_proj``."""
    config: Any = package.config
    widths = {
        "q_proj": config.num_attention_heads * config.head_dim, "k_proj": config.num_key_value_heads * config.head_dim,
        "v_proj": config.num_key_value_heads * config.head_dim, "down_proj": config.hidden_size,
    }  # fmt: skip
    rng, tensors = np.random.default_rng(7), {}
    for layer in range(config.num_hidden_layers):
        for name in modules:
            place = "mlp" if name == "down_proj" else "self_attn"
            key = f"base_model.model.model.layers.{layer}.{place}.{name}"
            wide = config.intermediate_size if name == "down_proj" else config.hidden_size
            tensors[f"{key}.lora_A.weight"] = rng.standard_normal((rank, wide)).astype(np.float32)
            tensors[f"{key}.lora_B.weight"] = rng.standard_normal((widths[name], rank)).astype(np.float32)
    folder.mkdir(parents=True, exist_ok=True)
    said = {"peft_type": "LORA", "r": rank, "lora_alpha": 2 * rank, "bias": "none", "target_modules": modules,
            "base_model_name_or_path": "tiny/llama", **words}  # fmt: skip
    (folder / "adapter_config.json").write_text(json.dumps(said), encoding="utf-8")
    save_file(tensors, folder / "adapter_model.safetensors")
    return folder


def write_package(folder: Path, package: Package, metadata: InferenceMetadata, schema_version: str | None) -> Path:
    """A folder that a client may load: graphs, policies and the document in the client's dialect."""
    folder.mkdir(parents=True, exist_ok=True)
    graphs = {f"{key}.onnx": model for key, model in {**package.models, **metadata.models}.items()}
    for file, model in {**graphs, **metadata.artifacts}.items():
        ir.save(model, folder / file)
    data = metadata.to("v1", schema_version=schema_version).data
    (folder / FILE).write_text(to_yaml(data), encoding="utf-8")
    return folder
