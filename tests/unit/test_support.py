"""support: a verdict from facts, with reasons that name what is left and why; never an error for a refusal."""

from __future__ import annotations

import pytest

from tests.families import FAMILIES, hf_config
from workbench.ep import execution_providers, get_ep
from workbench.errors import ConfigError, UnknownNameError
from workbench.support import Support, support
from workbench.types import FLOAT_DTYPES, dtype_word


def asked(family: str, ep: str, dtype: str | None = None, kind: str = "default", **more: str) -> Support:
    return support(hf_config(family, kind), ep, dtype, **more)


def test_a_plain_llama() -> None:
    found = asked("llama", "cpu")
    assert found.verdict == "supported" and found
    assert (found.reasons, found.dtype, found.evidence) == ((), "float32", "measured")
    assert found.plan == ("fuse/gqa 2 of 2", "fuse/pack_qkv 2 of 2", "fuse/skip_rms_norm 4 of 4")
    assert repr(found) == "Support(llama on cpu in float32: supported)"


def test_a_refusal_is_an_answer() -> None:
    found = asked("llama", "webgpu", "bfloat16")
    assert found.verdict == "refused" and not found
    assert found.reasons == (
        "Execution provider 'webgpu' cannot compute in bfloat16: it has no MatMul for it. It computes in float16, "
        "float32; choose one of these with dtype=, or another execution provider.",
    )
    assert (found.plan, found.evidence) == ((), "")
    assert repr(found) == "Support(llama on webgpu in bfloat16: refused)"


NOTES = [
    ("gemma2", "webgpu", "exercise", "fuse/gqa left 4 of 4: the kernel does not apply softcap (2)"),
    ("llama", "dml", "default", "fuse/gqa in 2 of 2: RoPE stays outside: the kernel does not rotate"),
    ("bloom", "cuda", "default", "fuse/gqa left 2 of 2: attn_mask is a float bias added to the scores (made by Where)"),
    (
        "qwen3",
        "cpu",
        "default",
        "fuse/pack_qkv left 2 of 2: query: it is made by Reshape, not by a projection's MatMul",
    ),
    (
        "gpt_neox",
        "cpu",
        "default",
        "fuse/gqa in 2 of 2: RoPE stays outside: its tables are 4 wide and the kernel needs",
    ),
]


@pytest.mark.parametrize(("family", "ep", "kind", "note"), NOTES)
def test_notes_count_and_say_why(family: str, ep: str, kind: str, note: str) -> None:
    found = asked(family, ep, kind=kind)
    assert found.verdict == "supported with notes"
    assert any(reason.startswith(note) for reason in found.reasons), found.reasons


def test_padding_that_a_kernel_cannot_carry_is_a_note() -> None:
    found = asked("llama", "cuda", padding="any")
    assert found.reasons == (
        "fuse/gqa left 2 of 2: padding='any' needs the mask as a bias, which the kernel does not take",
    )


@pytest.mark.parametrize("name", execution_providers())
def test_every_family_has_a_verdict_that_building_agrees_with(name: str) -> None:
    """Refused exactly where the provider does not compute in the dtype; evidence as sure as its facts are."""
    ep = get_ep(name)
    for family in FAMILIES:
        found = asked(family, name, kind="exercise")
        assert found, found
        assert found.evidence in ({fact.confidence for fact in ep.kernels.values()} if ep.ort_provider else {""})
    for word, dtype in FLOAT_DTYPES.items():
        assert bool(asked("llama", name, word)) == (dtype in ep.computes)


def test_the_default_dtype_is_the_providers() -> None:
    for name in execution_providers():
        assert asked("llama", name).dtype == dtype_word(get_ep(name).default_dtype)


def test_builtin_names_and_bad_ones() -> None:
    assert support("smollm2-135m", "trt-rtx").plan == (
        "fuse/gqa 30 of 30", "fuse/pack_qkv 30 of 30", "lower/rms_norm 61 of 61",
    )  # fmt: skip
    with pytest.raises(UnknownNameError, match="Did you mean 'cuda'"):
        support("smollm2-135m", "cude")
    with pytest.raises(UnknownNameError, match="Unknown dtype 'int4'"):
        support("smollm2-135m", "cpu", "int4")
    with pytest.raises(ConfigError):
        support({"model_type": "llama"}, "cpu")


def test_three_faces() -> None:
    found = asked("gemma2", "webgpu", kind="exercise")
    frame = found.to_frame()
    assert list(frame.columns) == ["model", "execution_provider", "dtype", "verdict", "reason"]
    assert list(frame.reason) == list(found.reasons)
    assert list(asked("llama", "cpu").to_frame().reason) == [""]
    assert found.to_dict()["reasons"] == found.reasons
    shown = Support("<b>", "cpu", "float32", "refused", ("<script>",))._repr_html_()
    assert "<script>" not in shown and "&lt;script&gt;" in shown and "&lt;b&gt;" in shown
