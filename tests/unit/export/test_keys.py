"""What we believe of the client's config, asked of the installed client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.export.folders import exported, genai, set_in
from workbench.export.keys import KEYS, SESSION_OPTIONS, TYPES

pytestmark = genai
VALUES: tuple[Any, ...] = (1, True, "x", [], {})
REFUSES_EMPTY = {"state_groups", "dspark", "dflash2"}
"""Known to the client, which wants more in them than nothing, or only one of two."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    exported(tmp_path_factory.mktemp("keys") / "x")
    return tmp_path_factory.getbasetemp() / "keys0" / "x"


def accepts(folder: Path, path: str, value: Any) -> bool:
    import onnxruntime_genai as og

    words: dict[str, Any] = {}
    set_in(path, value)(words)
    try:
        og.Config(str(folder)).overlay(json.dumps(words))
    except Exception as error:
        return "Unknown value" not in str(error) and "but saw" not in str(error)
    return True


@pytest.mark.parametrize("part", KEYS)
def test_the_client_knows_every_key(part: str, folder: Path) -> None:
    for key in KEYS[part]:
        path = f"{part}.{key}" if part else key
        assert any(accepts(folder, path, value) for value in VALUES) or key in REFUSES_EMPTY, path
    if part:
        assert not any(accepts(folder, f"{part}.no_such_key", value) for value in VALUES)


def test_session_options_have_the_kinds_that_we_say(folder: Path) -> None:
    part = "model.decoder.session_options"
    samples = {str: "ORT_ENABLE_ALL", int: 1, bool: True, list: []}
    for name, kind in SESSION_OPTIONS.items():
        assert accepts(folder, f"{part}.{name}", samples[kind]), name
    assert accepts(folder, f"{part}.anything", "text") and not accepts(folder, f"{part}.anything", 1)


@pytest.mark.parametrize("name", [*sorted(TYPES), "gpt2", "lfm2", "olmo2", "mixtral"])
def test_types_under_which_a_decoder_runs(name: str, folder: Path) -> None:
    import numpy as np
    import onnxruntime_genai as og

    config = og.Config(str(folder))
    config.overlay(json.dumps({"model": {"type": name}}))
    try:
        model = og.Model(config)
        parameters = og.GeneratorParams(model)
        parameters.set_search_options(max_length=8)
        generator = og.Generator(model, parameters)
        generator.append_tokens(np.array([5, 6, 7], np.int32))
        runs = generator.get_output("logits").shape == (1, 3, 96)
    except Exception:
        runs = False
    assert runs is (name in TYPES)
