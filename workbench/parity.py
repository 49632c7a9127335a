"""Running graphs against each other: one session at a time, the same steps for each, numbers with their floor."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from workbench.analysis.parity import LogitSample, ParityRow, Subject, compare_logits, not_run, sample_logits
from workbench.analysis.parity_report import ParityReport
from workbench.config.parts import AnyConfig
from workbench.ep import get_ep
from workbench.errors import ExecutionError, FeedsError, wrong_type
from workbench.package import Package
from workbench.runtime.arrays import as_arrays
from workbench.runtime.feeds import Feeds
from workbench.runtime.limits import check_feeds, check_positions
from workbench.runtime.ort_cpu import EXECUTOR, OrtCpuSession, SessionSettings
from workbench.runtime.own_floor import variants
from workbench.runtime.scenario import DECODE_STEPS, Run, last_only, record, replay
from workbench.runtime.tokens import TokenRunner, right_padded
from workbench.types import Padding, Tolerance, dtype_word

HALF_FACTOR = 3
"""Tolerance in half precision, as a multiple of the error that the dtype alone makes."""
RANDOM_LENGTHS = (20, 17)
"""Tokens per row when they are drawn from a seed."""
FLOAT32_STEPS = 5e-6
"""Tolerance in float32, as a share of the largest logit: about 40 rounding steps."""
VERSIONS = ("ep-workbench", "onnxruntime", "onnx", "onnx-ir", "onnxscript", "numpy")
Array = npt.NDArray[Any]


class Compared(Protocol):
    """What parity needs of a comparison: its packages by execution provider, and the generic graph."""

    @property
    def generic(self) -> ir.Model: ...
    @property
    def packages(self) -> Mapping[str, Package]: ...


def run_parity(
    comparison: Compared,
    prompts: Sequence[str],
    feeds: Mapping[str, Array] | None,
    *,
    seed: int,
    settings: SessionSettings | None,
) -> ParityReport:
    """Parity of every package against the generic graph in float32; see ``Comparison.parity``."""
    if not isinstance(settings, SessionSettings | None):
        raise wrong_type("settings", settings, "a SessionSettings")
    settings = settings or SessionSettings()
    first = next(iter(comparison.packages.values()))
    steps = _given(feeds, prompts, first) if feeds is not None else _steps_for(comparison.generic, first, prompts, seed)
    reference = _on(comparison.generic, settings, lambda session: steps.record(session))
    again = _Again(comparison.generic, settings, steps, reference)
    floors: dict[str, Sequence[Run]] = {"float32": reference}
    rows: list[ParityRow] = []
    samples: dict[str, LogitSample] = {}
    for package in comparison.packages.values():
        made, sample = _judge(package, steps, reference, floors, settings, seed, again)
        rows += made
        samples |= {package.execution_provider: sample} if sample else {}
    return ParityReport(
        rows=tuple(rows),
        reference=f"generic float32 on {EXECUTOR}",
        seed=seed,
        versions={name: metadata.version(name) for name in VERSIONS},
        session_options=settings.to_dict(),
        prompts=tuple(prompts),
        samples=samples,
    )


def _given(feeds: Mapping[str, Any], prompts: Sequence[str], first: Package) -> Steps:
    if prompts:
        raise FeedsError("Both prompts and feeds are given; a report is about one of them.")
    check_feeds(first.config, as_arrays(feeds), "any")
    return Feeds(feeds)


def _steps_for(generic: ir.Model, package: Package, prompts: Sequence[str], seed: int) -> Steps:
    """Token steps for text generators; one call with a right-padded batch for graphs without a cache."""
    rows, pad = _token_rows(package, prompts, seed), _pad_token(package.config)
    names = [value.name or "" for value in generic.graph.inputs]
    longest = max(map(len, rows))
    if any(name.startswith("past_key_values.") for name in names):
        check_positions(package.config, longest + DECODE_STEPS, prompt=longest)
        return Tokens(rows, pad)
    check_positions(package.config, longest, prompt=longest)
    batch = right_padded(rows, pad)
    given = {"input_ids": batch.input_ids, "attention_mask": batch.attention_mask}
    return Feeds({name: given.get(name, np.zeros_like(batch.input_ids)) for name in names})


class Steps(Protocol):
    """A way of calling graphs: recorded on the reference, replayed on the others."""

    def record(self, session: OrtCpuSession) -> tuple[Run, ...]: ...
    def replay(self, session: OrtCpuSession, runs: Sequence[Run], padding: Padding) -> tuple[Run, ...]: ...


@dataclasses.dataclass(frozen=True)
class Tokens:
    """Rows of tokens: prefill, right-padded batch, decode with cache."""

    rows: Sequence[Sequence[int]]
    pad_token_id: int

    def record(self, session: OrtCpuSession) -> tuple[Run, ...]:
        """Run the reference, which chooses the tokens of the decode steps."""
        return record(lambda: TokenRunner(session, "any"), self.rows, self.pad_token_id)

    def replay(self, session: OrtCpuSession, runs: Sequence[Run], padding: Padding) -> tuple[Run, ...]:
        """The same steps on another graph, under its padding contract."""
        return replay(lambda: TokenRunner(session, padding), runs)


def _on(model: ir.Model, settings: SessionSettings, use: Callable[[OrtCpuSession], tuple[Run, ...]]) -> tuple[Run, ...]:
    with OrtCpuSession(model, settings) as session:
        return use(session)


def _judge(
    package: Package,
    steps: Steps,
    reference: Sequence[Run],
    floors: dict[str, Sequence[Run]],
    settings: SessionSettings,
    seed: int,
    again: _Again,
) -> tuple[list[ParityRow], LogitSample | None]:
    dtype = dtype_word(package.dtype or ir.DataType.FLOAT)
    ep = get_ep(package.execution_provider)
    subject = Subject(ep.name, dtype, EXECUTOR, "ep-kernels" if ep.local_kernels else "graph-on-cpu")
    try:
        if dtype not in floors:
            floors[dtype] = _on(_generic(package), settings, lambda s: steps.replay(s, reference, "any"))
        found = _on(package.model, settings, lambda s: steps.replay(s, reference, package.padding))
    except ExecutionError as error:
        cases = dict.fromkeys(case for run in reference for case in run.cases)
        limit = Tolerance(0.0, "nothing was run")
        return [not_run(subject, case, f"{_why_not(error)}: {error}", limit) for case in cases], None
    floor: Sequence[Run] = floors[dtype]
    shorter = any(
        len(a[0]) > len(b[0]) for r, f in zip(reference, found, strict=True) for a, b in zip(r.logits, f.logits)
    )
    if shorter:
        reference, floor, found = (tuple(map(last_only, runs)) for runs in (reference, floor, found))
    limit = _tolerance(dtype, reference, floor)
    own = again.runs if dtype == "float32" and not _within(reference, found, limit) else ()
    floors_of = [tuple(map(last_only, runs)) if shorter else runs for runs in own] or [tuple(floor)]
    rows = [row for each in _steps(reference, floors_of, found) for row in _compare(*each, subject, limit, bool(own))]
    ref, cand = reference[0].logits[0], found[0].logits[0]
    return rows, sample_logits(ref, cand, reference[0].steps[0].valid, subject=subject, seed=seed)


@dataclasses.dataclass(frozen=True, eq=False)
class _Again:
    """The generic graph in float32 again, in other orders of rounding; asked only where a provider's graph is beyond
    the tolerance."""

    model: ir.Model
    settings: SessionSettings
    steps: Steps
    reference: tuple[Run, ...]

    @functools.cached_property
    def runs(self) -> tuple[tuple[Run, ...], ...]:
        """A run per variant; none where ONNX Runtime does not run them."""
        try:
            return tuple(
                _on(model, settings, lambda session: self.steps.replay(session, self.reference, "any"))
                for model, settings in variants(self.model, self.settings)
            )
        except ExecutionError:
            return ()


def _within(reference: Sequence[Run], found: Sequence[Run], limit: Tolerance) -> bool:
    """Whether every real position keeps the tolerance; a NaN does not."""
    return all(
        a.shape != b.shape or float(np.abs(a[step.valid] - b[step.valid]).max()) <= limit.atol
        for one, two in zip(reference, found, strict=True)
        for step, a, b in zip(one.steps, one.logits, two.logits, strict=True)
    )


def _why_not(error: ExecutionError) -> str:
    missing = "NOT_IMPLEMENTED" in str(error) or "Failed to find kernel" in str(error)
    return "no kernel on this machine" if missing else "its graph does not run on CPU kernels"


def _generic(package: Package) -> ir.Model:
    return next(iter(package.generic.values()))


def _steps(
    reference: Sequence[Run], floors: Sequence[Sequence[Run]], found: Sequence[Run]
) -> list[tuple[Any, Any, Any]]:
    """Per case: what the reference, its floors (the generic graph in the same dtype), and the provider's graph gave."""
    triples = []
    for first, last, *others in zip(reference, found, *floors, strict=True):
        for case in dict.fromkeys(first.cases):
            parts = [
                [(s, x) for c, s, x in zip(r.cases, r.steps, r.logits, strict=True) if c == case]
                for r in (first, last, *others)
            ]
            triples.append(((case, first.output, parts[0]), parts[2:], parts[1]))
    return triples


def _compare(
    reference: Any, floors: Any, found: Any, subject: Subject, tolerance: Tolerance, own_floor: bool
) -> list[ParityRow]:
    case, output, expected = reference
    errors = [
        np.max([np.abs(a - b).max(axis=-1) for _, b in others], axis=0)
        for (_, a), *others in zip(expected, *floors, strict=True)
    ]
    rows: list[ParityRow] = []
    for (step, ref), (_, cand), error in zip(expected, found, errors, strict=True):
        for b, first in enumerate(step.position_ids[:, 0]):
            one = slice(b, b + 1)
            made = compare_logits(
                ref[one], cand[one], step.valid[one], floor=error[one], tolerance=tolerance,
                subject=subject, case=case, output=output, first_position=int(first), own_floor=own_floor,
            )  # fmt: skip
            rows += [_of_row(row, b) for row in made]
    return rows


def _of_row(row: ParityRow, batch_row: int) -> ParityRow:
    """Only logits choose tokens: other outputs have no probabilities to compare."""
    placed = dataclasses.replace(row, row=batch_row)
    return placed if row.output == "logits" else dataclasses.replace(placed, kl=float("nan"), top1=None)


def _tolerance(dtype: str, reference: Sequence[Run], floor: Sequence[Run]) -> Tolerance:
    """float32: a share of the largest logit. Half precision: a multiple of what the dtype does to the generic graph.

    Three and not two: CPU kernels keep the generic graph's sums in float32 where a fused kernel rounds them, so the
    floor is on the low side.
    """
    pairs = [
        (s.valid, a, b) for r, f in zip(reference, floor, strict=True) for s, a, b in zip(r.steps, r.logits, f.logits)
    ]
    if dtype == "float32":
        largest = max(float(np.abs(a[valid]).max()) for valid, a, _ in pairs)
        return Tolerance(max(1e-5, FLOAT32_STEPS * largest), f"{FLOAT32_STEPS:g} x the largest logit, at least 1e-05")
    worst = max(float(np.abs(a[valid] - b[valid]).max()) for valid, a, b in pairs)
    return Tolerance(HALF_FACTOR * worst, f"{HALF_FACTOR} x the error that {dtype} alone makes in the generic graph")


def _token_rows(package: Package, prompts: Sequence[str], seed: int) -> list[list[int]]:
    if prompts:
        return [package.encode(prompt) for prompt in prompts]
    if package.config is None:
        raise FeedsError("Without a model configuration tokens cannot be drawn; give feeds= (inputs by name).")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise wrong_type("seed", seed, "a whole number, 0 or more")
    rng = np.random.default_rng(seed)
    return [rng.integers(0, package.config.vocab_size, length).tolist() for length in RANDOM_LENGTHS]


def _pad_token(config: AnyConfig | None) -> int:
    """The config's, where it is a token at all: some configs write -1, or one more than there are."""
    pad = config.pad_token_id if config is not None else None
    return pad if config is not None and pad is not None and 0 <= pad < config.vocab_size else 0
