"""Logits through the client against our own run of the same graph, as a parity report."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import metadata

import numpy as np
import onnx_ir as ir

from workbench.analysis.parity import DECODE, PREFILL, ParityRow, Subject, compare_logits, sample_logits
from workbench.analysis.parity_report import ParityReport
from workbench.errors import FeedsError
from workbench.package import Package, load
from workbench.runtime.arrays import Array
from workbench.runtime.genai import EXECUTOR, GenaiClient
from workbench.runtime.ort_cpu import OrtCpuSession, SessionSettings
from workbench.runtime.tokens import TokenRunner, next_step, right_padded
from workbench.types import Tolerance, dtype_word

STEPS = 3
SHARE = {"float32": 5e-6, "float16": 4e-3, "bfloat16": 3e-2}
"""Tolerance as a share of the largest logit. Both sides run the same graph on the same kernels; what differs is the
cache (one buffer there, a growing one here) and so the order of sums."""
VERSIONS = ("ep-workbench", "onnxruntime", "onnxruntime-genai", "onnx", "numpy")


def client_parity(folder: str | os.PathLike[str], prompt: str | Sequence[int]) -> ParityReport:
    """Run a prompt and three more tokens through the client and through ONNX Runtime here, and compare the logits.

    ``prompt`` is a text, or token ids.

    Raises:
        ExecutionError: the client is not installed or fails, or a kernel is missing.
        FeedsError: the prompt is empty, or the folder has no tokenizer for a text.
        ModelFileError: the folder is no package of the workbench.
    """
    package, client = load(folder), GenaiClient(folder)
    ids = package.encode(prompt) if isinstance(prompt, str) else list(prompt)
    if not ids:
        raise FeedsError("The prompt has no tokens; give a longer one.")
    ours, more = _ours(package, ids)
    steps = [np.asarray(step, np.float32)[None] for step in map(_only, client.logits(ids, decode=more))]
    dtype = dtype_word(package.dtype or ir.DataType.FLOAT)
    largest = max(float(np.abs(logits).max()) for logits in ours)
    limit = Tolerance(max(1e-5, SHARE[dtype] * largest), f"{SHARE[dtype]:g} x the largest logit, at least 1e-05")
    subject = Subject(package.execution_provider, dtype, EXECUTOR, "graph-on-cpu" if client.notes else "ep-kernels")
    rows = _rows(ours, steps, len(ids), subject, limit)
    sample = sample_logits(ours[0], steps[0], np.ones(ours[0].shape[:2], bool), subject=subject, seed=0)
    return ParityReport(
        rows=tuple(rows),
        reference="the same graph on ort-cpu",
        seed=0,
        versions={name: metadata.version(name) for name in VERSIONS},
        session_options=SessionSettings().to_dict(),
        prompts=(prompt,) if isinstance(prompt, str) else (),
        samples={package.execution_provider: sample},
    )


def _only(step: dict[str, Array]) -> Array:
    return next(iter(step.values()))


def _ours(package: Package, ids: Sequence[int]) -> tuple[list[Array], list[int]]:
    """Logits ``[1, S, V]`` of the prompt and ``[1, 1, V]`` of each token after it, and those tokens."""
    with OrtCpuSession(package.model) as session:
        runner, step = TokenRunner(session, package.padding), right_padded([list(ids)])
        logits, more = [runner.run(step)], []
        for _ in range(STEPS):
            more.append(int(logits[-1][0, -1].argmax()))
            step = next_step(step, np.array(more[-1:]))
            logits.append(runner.run(step))
    return logits, more


def _rows(
    ours: Sequence[Array], theirs: Sequence[Array], prompt: int, subject: Subject, limit: Tolerance
) -> list[ParityRow]:
    rows: list[ParityRow] = []
    for number, (reference, candidate) in enumerate(zip(ours, theirs, strict=True)):
        rows += compare_logits(
            reference, candidate, np.ones(reference.shape[:2], bool), floor=None, tolerance=limit, subject=subject,
            case=DECODE if number else PREFILL, first_position=0 if not number else prompt + number - 1,
        )  # fmt: skip
    return rows
