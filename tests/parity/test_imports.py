"""Folders of three builders, imported and run: the published client answers as Hugging Face does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.parity.test_client import NEW, built_by_genai, hf_greedy, saved
from tests.unit.export.folders import change_config, set_in
from tests.unit.metadata.client import ask
from workbench.build import build
from workbench.export import export
from workbench.importing import GenaiImport, import_genai_config
from workbench.metadata import check_ports

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(
        __import__("importlib.util").util.find_spec("onnx_genai") is None,
        reason="onnx-genai is not installed: pip install onnx-genai==0.1.0.dev6",
    ),
]
PROMPT = "ThequickbrownfoxjumpsoverthelazydogThequickbrownfox"
"""Every letter is a token of the tiny tokenizer; longer than the windows of the exercises."""
RUN = """
import json, sys, onnx_genai
engine = onnx_genai.Engine.from_dir(sys.argv[1])
made = engine.generate(sys.argv[2], max_tokens=int(sys.argv[3]))
print(json.dumps([list(engine.tokenize(sys.argv[2])), list(made.token_ids), made.finish_reason]))
"""


def run(folder: Path, prompt: str = PROMPT, new: int = NEW) -> tuple[list[int], list[int], str]:
    """Tokens of a prompt, the client's answer, and why it ended; nothing but the document says how."""
    (folder / "genai_config.json").unlink()
    command = [sys.executable, "-c", RUN, str(folder), prompt, str(new)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    ids, made, why = json.loads(done.stdout.splitlines()[-1])
    return ids, made, why
