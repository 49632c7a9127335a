"""chat, logits and parity through the client, on tiny folders."""

from __future__ import annotations

import json
import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.export.folders import change_config, drop_ends, exported, genai, package, set_in, write_tokenizer
from workbench.errors import ExecutionError, FeedsError
from workbench.package import load
from workbench.runtime import memory
from workbench.runtime.chat import ChatResult, chat
from workbench.runtime.client_parity import client_parity
from workbench.runtime.genai import GenaiClient, client_logits
from workbench.runtime.memory import forget_peak, peak_bytes
from workbench.runtime.ort_cpu import OrtCpuSession
from workbench.runtime.tokens import TokenRunner, greedy, right_padded

GREEDY = {"do_sample": False}
IDS = list(range(5, 45))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("chat")
    exported(place / "x", tokenizer=write_tokenizer(place / "tokenizer", template=True))
    return change_config(place / "x", drop_ends)


@genai
def test_an_answer(folder: Path) -> None:
    result = chat(folder, "abc", max_new_tokens=6, raw=True, search=GREEDY)
    with OrtCpuSession(package().model) as session:
        expected = greedy(TokenRunner(session, "right"), package().encode("abc"), 6)
    assert list(result.tokens) == expected and result.prompt_tokens == 3
    assert result.text == package().decode(expected) == str(result)
    assert (result.finish, result.executor, result.notes) == ("length", "onnxruntime-genai", ())
    assert result.first_token_seconds > 0 and result.tokens_per_second > 0 and result.peak_bytes > 10**7


@genai
def test_pieces_as_they_come(folder: Path) -> None:
    stream = chat(folder, "abc", max_new_tokens=6, raw=True, search=GREEDY, stream=True)
    first = next(stream)
    assert "1 tokens so far" in repr(stream)
    pieces = [first, *stream]
    assert len(pieces) == 6 and "".join(pieces) == stream.result.text
    assert stream.result.tokens == chat(folder, "abc", max_new_tokens=6, raw=True, search=GREEDY).tokens
    assert list(stream) == []


@genai
def test_the_template_is_applied_where_there_is_one(folder: Path, tmp_path: Path) -> None:
    with_template = chat(folder, "abc", max_new_tokens=1)
    assert with_template.prompt_tokens == len("<user>abc<assistant>")
    talk = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]
    assert chat(folder, talk, max_new_tokens=1).prompt_tokens == len("<user>a<assistant>b<user>c<assistant>")
    exported(tmp_path / "x")  # a tokenizer without
    assert chat(tmp_path / "x", "abc", max_new_tokens=1).prompt_tokens == 3
    (tmp_path / "x" / "chat_template.jinja").write_text("{{ messages[0]['content'] }}{{ messages[0]['content'] }}")
    assert chat(tmp_path / "x", "abc", max_new_tokens=1).prompt_tokens == 6


@genai
def test_an_end_stops_and_is_not_said(folder: Path, tmp_path: Path) -> None:
    tokens = chat(folder, "abc", max_new_tokens=8, raw=True, search=GREEDY).tokens
    exported(tmp_path / "x")
    end = next(token for i, token in enumerate(tokens) if token not in tokens[:i] and i > 1)
    change_config(tmp_path / "x", set_in("model.eos_token_id", [7, end]))
    result = chat(tmp_path / "x", "abc", max_new_tokens=8, raw=True, search=GREEDY)
    assert result.tokens == tokens[: tokens.index(end)] and result.finish == "stop"


@genai
def test_ctrl_c_keeps_what_came(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = GenaiClient(folder)
    made = client.tokens

    def interrupted(*arguments: Any) -> Any:
        for number, token in enumerate(made(*arguments)):
            if number == 3:
                raise KeyboardInterrupt
            yield token

    monkeypatch.setattr(client, "tokens", interrupted)
    stream = chat(client, "abc", max_new_tokens=9, raw=True, search=GREEDY, stream=True)
    assert len(list(stream)) == 3
    assert stream.result.finish == "interrupted" and len(stream.result.tokens) == 3


@genai
def test_ids_that_are_no_token(folder: Path) -> None:
    client = GenaiClient(folder)
    for size, allowed in ((96, "0 to 95"), (None, "0 to 2147483647")):
        client.words["model"]["vocab_size"] = size
        with pytest.raises(FeedsError, match=f"The prompt holds -1; tokens of this model are {allowed}. Give ids of"):
            list(client.tokens([5, -1], 1, GREEDY))


@genai
def test_the_context_bounds_an_answer(folder: Path) -> None:
    result = chat(folder, "a" * 120, max_new_tokens=50, raw=True, search=GREEDY)
    assert len(result.tokens) == 8  # 128 positions


@genai
def test_a_provider_that_is_not_here_is_cleared_and_said(tmp_path: Path) -> None:
    exported(tmp_path / "x", "webgpu", "float16")
    assert chat(tmp_path / "x", "abc", max_new_tokens=2).notes == (
        "webgpu is not here: providers cleared, the graph runs on CPU kernels.",
    )
    with pytest.raises(ExecutionError, match="cannot run"):
        GenaiClient(tmp_path / "x", keep_providers=True)


@genai
@pytest.mark.parametrize("ep", ["cpu", "default", "webgpu", "onnx-standard"])
@pytest.mark.parametrize("padding", ["right", "any"])
def test_logits_are_our_own(ep: str, padding: str, tmp_path: Path) -> None:
    exported(tmp_path / "x", ep, windowed=True, padding=padding)
    report = client_parity(tmp_path / "x", IDS)
    assert report.verdict == "ok" and {row.executor for row in report.rows} == {"onnxruntime-genai"}
    assert max(row.max_abs for row in report.rows) <= 1e-4 and len(report.rows) == len(IDS) + 3
    assert {row.label for row in report.rows} == {"graph-on-cpu" if ep == "webgpu" else "ep-kernels"}


@genai
def test_a_tampered_graph_differs(tmp_path: Path) -> None:
    """The row can fail: the client gets other weights than we run."""
    exported(tmp_path / "x")
    loaded = load(tmp_path / "x")
    with open(tmp_path / "x" / "model.onnx.data", "r+b") as data:
        data.write(np.full(96 * 64, 0.5, np.float32).tobytes())
    found = client_logits(tmp_path / "x", IDS)
    with OrtCpuSession(package().model) as session:
        ours = TokenRunner(session, loaded.padding).run(right_padded([IDS]))[0]
    assert found.shape == ours.shape and np.abs(found - ours).max() > 0.1


@genai
def test_taps(tmp_path: Path) -> None:
    names = [n.outputs[0].name for n in package().model.graph if n.op_type == "SkipSimplifiedLayerNormalization"]
    exported(tmp_path / "x", outputs=names)
    found = client_logits(tmp_path / "x", IDS, decode=[7, 8], outputs=[*names, "logits"])
    assert {array.shape for name, array in found.items() if name != "logits"} == {(len(IDS) + 2, 64)}
    with OrtCpuSession(load(tmp_path / "x").model) as session:
        step = right_padded([IDS])
        past = {n: np.zeros((1, 2, 0, 16), np.float32) for n in session.inputs if "past" in n}
        ours = session.run({"input_ids": step.input_ids, "attention_mask": step.attention_mask, **past})
    for name in (*names, "logits"):
        np.testing.assert_allclose(found[name][: len(IDS)], ours[name][0], atol=1e-5)
    with pytest.raises(ExecutionError, match="cannot run"):
        client_logits(tmp_path / "x", IDS, outputs=["nothing"])


@genai
def test_a_short_cache_answers_alike(tmp_path: Path) -> None:
    """40 tokens and 40 more through a window of 8: the same answers from a cache of a quarter."""
    exported(tmp_path / "long", windowed=True)
    exported(tmp_path / "short", windowed=True, window_cache=True)
    answers, sizes = [], []
    for name in ("long", "short"):
        client = GenaiClient(change_config(tmp_path / name, drop_ends))
        answers.append(list(client.tokens(IDS, 40, GREEDY)))
        generator = client.generator(80, GREEDY)
        generator.append_tokens(np.array(IDS, np.int32))
        generator.generate_next_token()
        sizes.append(generator.get_input("past_key_values.0.key").shape[2])
    assert answers[0] == answers[1] and len(answers[0]) == 40
    assert sizes[1] * 2 < sizes[0]
    assert list(client.tokens([5], 2, GREEDY))  # shorter than the window


@genai
def test_rows_padded_as_the_client_pads(tmp_path: Path) -> None:
    """encode_batch pads on the right; each row of a batch answers as it does alone."""
    exported(tmp_path / "x")
    client = GenaiClient(change_config(tmp_path / "x", drop_ends))
    rows, short = client.tokenizer.encode_batch(["abcdefgh", "bca"]), client.encode("bca")
    rows = rows.as_numpy() if hasattr(rows, "as_numpy") else np.asarray(rows)
    assert rows.shape == (2, 8) and list(rows[1][:3]) == short
    generator = client.generator(20, {**GREEDY, "batch_size": 2})
    generator.append_tokens(rows.astype(np.int32))
    for _ in range(10):
        generator.generate_next_token()
    assert list(generator.get_sequence(1))[8:18] == list(client.tokens(short, 10, GREEDY))


def test_faces() -> None:
    result = ChatResult(Path("x"), "<b>" + "a" * 50, (1, 2), 3, "stop", 12.3, 0.5, 10**8, notes=("<i>",))
    html = result._repr_html_()
    assert "<b>" not in html and "<i>" not in html and "12.3 a second" in html and "100 MB" in html
    assert repr(result) == "ChatResult('<b>aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'..., 2 tokens, stop)"
    assert json.loads(json.dumps(result.to_dict()))["tokens"] == [1, 2]
    (row,) = result.to_frame().to_dict("records")
    assert (row["new_tokens"], row["tokens_per_second"], row["peak_bytes"]) == (2, 12.3, 10**8)


def test_the_peak_is_forgotten_or_said_to_be_kept() -> None:
    # Straight from the system and back to it: an array may come out of a hole in malloc's heap, which is held
    # before and after, so that nothing falls when it is freed.
    with mmap.mmap(-1, 3 * 10**8) as held:
        for page in range(0, len(held), mmap.PAGESIZE):
            held[page] = 1
        high = peak_bytes()
    forgotten = forget_peak()  # not on every system, nor in every container
    if forgotten:
        assert peak_bytes() < high - 2 * 10**8
    else:
        assert peak_bytes() >= high


def test_a_peak_that_the_system_keeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status = tmp_path / "status"
    status.write_text("VmHWM:\t 500000 kB\nVmRSS:\t 300000 kB\n")
    monkeypatch.setattr(memory, "_STATUS", status)
    for clear, found in ((tmp_path / "clear_refs", False), (tmp_path / "absent" / "clear_refs", False)):
        monkeypatch.setattr(memory, "_CLEAR", clear)
        assert forget_peak() is found
    status.write_text("VmHWM:\t 300100 kB\nVmRSS:\t 300000 kB\n")
    monkeypatch.setattr(memory, "_CLEAR", tmp_path / "clear_refs")
    assert forget_peak() and peak_bytes() == 300_100 * 1024
    status.write_text("nothing of the kind")
    assert not forget_peak() and peak_bytes() > 10**6  # asked of the operating system another way


@genai
def test_wrong_tokens(folder: Path) -> None:
    for ids, text in (
        ([], "no tokens"),
        ([5, 96], "holds 96; tokens.* 0 to 95"),
        ([-1], "-1;"),
        ([5] * 128, "no room"),
    ):
        with pytest.raises(FeedsError, match=text):
            client_logits(folder, ids)
