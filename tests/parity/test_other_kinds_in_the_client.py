"""onnx-genai's engine on packages that are no plain decoder: graphs whose next token is a formula of all they read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import onnx
import onnx.parser
import pytest

from tests.metadata_packages import TRANSFORMS, VOCAB, tokenizer_folder
from workbench.describe import DescribedPackage, describe

pytest.importorskip("onnx_genai", reason="onnx-genai is not installed: pip install ep-workbench[genai]")

WORD, START, EOS, STEPS = 5, 2, 3, 8
_HEAD = '<ir_version: 10, opset_import: ["" : 20]>'
_SCORES = f"""
    depth = Constant <value_int: int = {VOCAB}> ()
    hot = Constant <value_floats: floats = [0.0, 1.0]> ()
    wrapped = Mod (sum, depth)
    logits = OneHot (wrapped, depth, hot)"""
"""One-hot logits [B, S, V] of ``sum`` [B, S] modulo V."""
_NEW = """
    wide = Cast <to = 1> (input_ids)
    sides = Constant <value_ints: ints = [1, 3]> ()
    stood = Unsqueeze (wide, sides)
    shape = Constant <value_ints: ints = [1, 1, 1, 4]> ()
    new = Expand (stood, shape)"""
"""What ``input_ids`` add to a cache: entries [B, 1, S, 4]."""
ENCODER = f"""{_HEAD} encoder (int64[batch, source] input_ids, int64[batch, source] attention_mask)
  => (float[batch, 1, source, 4] present__0__encoder__key, float[batch, 1, source, 4] present__0__encoder__value) {{
    real = Mul (input_ids, attention_mask)
    wide = Cast <to = 1> (real)
    axes = Constant <value_ints: ints = [1, 3]> ()
    stood = Unsqueeze (wide, axes)
    shape = Constant <value_ints: ints = [1, 1, 1, 4]> ()
    present__0__encoder__key = Expand (stood, shape)
    present__0__encoder__value = Identity (present__0__encoder__key)
  }}"""
DECODER = f"""{_HEAD} decoder (int64[batch, sequence] input_ids,
    float[batch, 1, past, 4] past_key_values__0__decoder__key,
    float[batch, 1, past, 4] past_key_values__0__decoder__value,
    float[batch, 1, source, 4] past_key_values__0__encoder__key,
    float[batch, 1, source, 4] past_key_values__0__encoder__value)
  => (float[batch, sequence, {VOCAB}] logits, float[batch, 1, total, 4] present__0__decoder__key,
      float[batch, 1, total, 4] present__0__decoder__value) {{
    axes = Constant <value_ints: ints = [1, 2, 3]> ()
    four = Constant <value_float: float = 4.0> ()
    whole = ReduceSum <keepdims = 0> (past_key_values__0__encoder__key, axes)
    quarter = Div (whole, four)
    source = Cast <to = 7> (quarter)
    behind = Constant <value_ints: ints = [1]> ()
    column = Unsqueeze (source, behind)
    length = Shape <start = 2, end = 3> (past_key_values__0__decoder__key)
    first = Add (input_ids, column)
    sum = Add (first, length)
    {_SCORES}
    {_NEW}
    present__0__decoder__key = Concat <axis = 2> (past_key_values__0__decoder__key, new)
    present__0__decoder__value = Concat <axis = 2> (past_key_values__0__decoder__value, new)
  }}"""
HYBRID = f"""{_HEAD} hybrid (int64[batch, sequence] input_ids, int64[batch, total] attention_mask,
    float[batch, 2, 3] past__0__conv,
    float[batch, 1, past, 4] past_key_values__1__key, float[batch, 1, past, 4] past_key_values__1__value)
  => (float[batch, sequence, {VOCAB}] logits, float[batch, 2, 3] present__0__conv,
      float[batch, 1, total, 4] present__1__key, float[batch, 1, total, 4] present__1__value) {{
    axes = Constant <value_ints: ints = [1, 2]> ()
    six = Constant <value_float: float = 6.0> ()
    one = Constant <value_float: float = 1.0> ()
    whole = ReduceSum <keepdims = 0> (past__0__conv, axes)
    mean = Div (whole, six)
    rounds = Cast <to = 7> (mean)
    behind = Constant <value_ints: ints = [1]> ()
    column = Unsqueeze (rounds, behind)
    sum = Add (input_ids, column)
    {_SCORES}
    present__0__conv = Add (past__0__conv, one)
    {_NEW}
    present__1__key = Concat <axis = 2> (past_key_values__1__key, new)
    present__1__value = Concat <axis = 2> (past_key_values__1__value, new)
  }}"""
VISION = f"""{_HEAD} vision (float[images, 3, 8, 8] pixel_values) => (float[patches, 1] image_features) {{
    axes = Constant <value_ints: ints = [1, 2, 3]> ()
    summed = ReduceSum <keepdims = 0> (pixel_values, axes)
    behind = Constant <value_ints: ints = [1]> ()
    image_features = Unsqueeze (summed, behind)
  }}"""
EMBEDDING = f"""{_HEAD} embedding (int64[batch, sequence] input_ids, float[patches, 1] image_features)
  => (float[batch, sequence, 1] inputs_embeds) {{
    wide = Cast <to = 1> (input_ids)
    rows = Shape <start = 0, end = 1> (image_features)
    added = Cast <to = 1> (rows)
    sum = Add (wide, added)
    behind = Constant <value_ints: ints = [2]> ()
    inputs_embeds = Unsqueeze (sum, behind)
  }}"""
EMBEDDED = f"""{_HEAD} decoder (float[batch, sequence, 1] inputs_embeds, int64[batch, total] attention_mask,
    float[batch, 1, past, 4] past_key_values__0__key, float[batch, 1, past, 4] past_key_values__0__value)
  => (float[batch, sequence, {VOCAB}] logits, float[batch, 1, total, 4] present__0__key,
      float[batch, 1, total, 4] present__0__value) {{
    behind = Constant <value_ints: ints = [2]> ()
    flat = Squeeze (inputs_embeds, behind)
    ids = Cast <to = 7> (flat)
    length = Shape <start = 2, end = 3> (past_key_values__0__key)
    sum = Add (ids, length)
    {_SCORES}
    axis = Constant <value_ints: ints = [1]> ()
    stood = Unsqueeze (inputs_embeds, axis)
    shape = Constant <value_ints: ints = [1, 1, 1, 4]> ()
    new = Expand (stood, shape)
    present__0__key = Concat <axis = 2> (past_key_values__0__key, new)
    present__0__value = Concat <axis = 2> (past_key_values__0__value, new)
  }}"""
_RUN = (
    "import json, sys, onnx_genai; e = onnx_genai.Engine.from_dir(sys.argv[1]); "
    "print(json.dumps(list(e.generate(sys.argv[2], max_tokens=int(sys.argv[3]), temperature=0.0).token_ids)))"
)


def parsed(text: str) -> onnx.ModelProto:
    """The graph of a text, in which two underscores stand for the dot of a name."""
    model = onnx.parser.parse_model(text)
    for value in (*model.graph.input, *model.graph.output):
        value.name = value.name.replace("__", ".")
    for node in model.graph.node:
        for side in (node.input, node.output):
            side[:] = [name.replace("__", ".") for name in side]
    return model


def tokens(folder: Path, kind: str, graphs: dict[str, str], **facts: object) -> list[int]:
    """What the engine generates from one word."""
    tokenizer_folder(folder, VOCAB)
    for name, text in graphs.items():
        onnx.save(parsed(text), folder / f"{name}.onnx")
    files = {name: f"{name}.onnx" for name in graphs}
    package = DescribedPackage.read(folder, kind=kind, components=files, facts=facts)
    describe(package).save_beside(folder)
    command = [sys.executable, "-c", _RUN, str(folder), f"w{WORD}", str(STEPS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-500:]
    found: list[int] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def counted(first: int, added: int) -> list[int]:
    """``next = (last + added + n) mod V`` for step n from 0, until the end of a text."""
    found = [first]
    for step in range(STEPS):
        found.append((found[-1] + added + step) % VOCAB)
        if found[-1] == EOS:
            break
    return found[1:]


def test_an_encoder_runs_once_and_the_decoder_reads_what_it_gave(tmp_path: Path) -> None:
    found = tokens(
        tmp_path, "encoder-decoder", {"encoder": ENCODER, "decoder": DECODER}, decoder_start=START, eos_token_id=EOS
    )
    assert found == counted(START, WORD)


def test_a_recurrent_state_goes_from_step_to_step(tmp_path: Path) -> None:
    assert tokens(tmp_path, "hybrid", {"model": HYBRID}, eos_token_id=EOS) == counted(WORD, 0)


def test_a_picture_may_be_absent(tmp_path: Path) -> None:
    """Every row of features would be added to every token; there is none."""
    graphs = {"vision": VISION, "embedding": EMBEDDING, "decoder": EMBEDDED}
    facts = {"transforms": TRANSFORMS, "eos_token_id": EOS, "image_token_id": 4}
    assert tokens(tmp_path, "vision-language", graphs, **facts) == counted(WORD, 0)
