"""One example: a seed is a graph with its mutations and a provider; it is optimized and run on both sides.

``python -m tests.property.examples 50000 [FIRST]`` runs that many and says what came of them; seeds that fail are
appended to ``failing_seeds.json``, and the test runs them again from then on.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import json
import random
import sys
import time
from pathlib import Path

import numpy as np
import onnx_ir as ir

from tests.property.blocks import CHOSEN
from tests.property.drawing import TARGETS, sketch
from tests.property.mutations import mutate
from workbench.ep import ExecutionProvider, get_ep
from workbench.ep.base import GQA, IF, SHAPE, kernel
from workbench.optimize import run_plan
from workbench.rules import RULES
from workbench.rules.plan import plan
from workbench.runtime.stand_ins import for_cpu_kernels
from workbench.types import Role

LIMIT = 1e-4
_FAR = " differs by "
ROUTER = {"TopK": 0, "MoE": 1}  # which input has the scores
SEEDS = Path(__file__).with_name("failing_seeds.json")
FLOAT = ir.DataType.FLOAT
ROLES = (Role.DECODER, Role.ENCODER)


def _dml() -> ExecutionProvider:
    """DirectML with the one kernel that is documented in float16 only: numbers are compared in float32."""
    has = " ".join(sorted(get_ep("dml").kernels[GQA].has))
    fact = kernel(FLOAT, has=has, source="test", confidence="documented")
    return dataclasses.replace(get_ep("dml"), name="dml-float32", kernels={**get_ep("dml").kernels, GQA: fact})


def _trt_rtx() -> ExecutionProvider:
    """TensorRT-RTX with its attention in float32 as well."""
    has = " ".join(sorted(get_ep("trt-rtx").kernels[GQA].has))
    fact = kernel(FLOAT, has=has, source="test", confidence="documented")
    return dataclasses.replace(
        get_ep("trt-rtx"), name="trt-rtx-float32", kernels={**get_ep("trt-rtx").kernels, GQA: fact}
    )


def _bare() -> ExecutionProvider:
    """A provider with plain operators alone: whatever can be lowered has to be."""
    nothing = kernel(source="test", confidence="documented")
    kernels = dict.fromkeys(get_ep("cpu").kernels, nothing)
    return dataclasses.replace(get_ep("cpu"), name="bare", kernels=kernels, forbidden=frozenset({SHAPE, IF}))


NAMES = ("default", "cpu", "cuda", "dml", "webgpu", "trt-rtx", "onnx-standard")
PROVIDERS = (*map(get_ep, NAMES), _dml(), _trt_rtx(), _bare())


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came of an example.

    ``problem`` is empty where all is well; ``valid``: the graph itself can be run; ``undecided``: outputs differ, and
    no more than those of the graph itself do when its inputs move by one float, or when two experts score the same.
    """

    seed: int
    provider: str
    mutations: tuple[str, ...]
    valid: bool
    fired: tuple[str, ...] = ()
    refused: int = 0
    problem: str = ""
    undecided: bool = False


def run(model: ir.Model, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """On CPU kernels; what they lack is written out."""
    import onnxruntime

    model = for_cpu_kernels(model)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = 1, 1, 4
    session = onnxruntime.InferenceSession(
        ir.to_proto(model).SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    wanted = {value.name for value in session.get_inputs()}
    names = [value.name for value in session.get_outputs()]
    given = {name: array for name, array in arrays.items() if name in wanted}
    return dict(zip(names, session.run(names, given), strict=True))


@functools.cache
def plans_with(rule: str) -> tuple[tuple[ExecutionProvider, Role], ...]:
    """Providers and roles whose plans hold a rule."""
    pairs = [(ep, role) for ep in PROVIDERS for role in ROLES]
    return tuple(
        (ep, role) for ep, role in pairs if rule in [step.rule.name for step in plan(ep, FLOAT, role, RULES).steps]
    )


def example(seed: int) -> Outcome:
    """Make, mutate, optimize and run on both sides. Each rule is aimed at in turn."""
    rng, aim = random.Random(seed), TARGETS[seed % len(TARGETS)]
    ep, role = rng.choice(plans_with(aim))
    steps = plan(ep, FLOAT, role, RULES)
    model, arrays = sketch(rng, [step.rule.name for step in steps.steps], aim)
    mutations = tuple(mutate(model, rng))
    try:
        before = run(model, arrays)
    except Exception:  # the mutation has made a graph that nobody can run
        return Outcome(seed, ep.name, mutations, valid=False)
    blank = Outcome(seed, ep.name, mutations, valid=True)
    try:
        made = run_plan(model, steps, ep)
    except Exception as error:
        return dataclasses.replace(blank, problem=f"optimize raised {type(error).__name__}: {error}")
    fired = tuple(r.rule for r in made.report.rules if r.applied)
    refused = sum(len(r.misses) for r in made.report.rules)
    done = dataclasses.replace(blank, fired=fired, refused=refused)
    problem = _problem(made.model, made.report.diagnostics, before, arrays)
    if _FAR in problem and (_tied(model, arrays) or float(problem.rsplit(_FAR, 1)[1]) <= _floor(model, arrays, before)):
        return dataclasses.replace(done, undecided=True)
    return dataclasses.replace(done, problem=problem)


def _problem(
    model: ir.Model, diagnostics: tuple[object, ...], before: dict[str, np.ndarray], arrays: dict[str, np.ndarray]
) -> str:
    raised = [d for d in diagnostics if getattr(d, "code", "") == "rule.raised"]
    if raised:
        return str(raised[0])
    nodes = set(model.graph)
    values = [*model.graph.inputs, *model.graph.initializers.values(), *(v for n in nodes for v in n.outputs)]
    stray = [v.name for v in values if any(use.node.graph is None for use in v.uses())]
    if stray:
        return f"a refused rewrite still reads {stray[0]}"
    try:
        after = run(model, arrays)
    except Exception as error:
        return f"the result cannot be run: {' '.join(str(error).split())[:300]}"
    if list(after) != list(before):
        return f"outputs are {list(after)}, not {list(before)}"
    for name, one in before.items():
        two = after[name]
        if one.shape != two.shape:
            return f"{name} is of shape {two.shape}, not {one.shape}"
        distance = _distance(one, two)
        if not distance <= LIMIT:
            return f"{name}{_FAR}{distance:.2e}"
    return ""


def _floor(model: ir.Model, arrays: dict[str, np.ndarray], before: dict[str, np.ndarray]) -> float:
    """How far the graph that nothing was done to differs from itself when what goes in moves by one float."""
    worst = 0.0
    for seed in range(3):
        way = np.random.default_rng(seed)
        moved = {
            name: np.nextafter(array, array + way.choice([-1, 1], array.shape).astype(array.dtype))
            if array.dtype == np.float32 else array
            for name, array in arrays.items()
        }  # fmt: skip
        after = run(model, moved)
        worst = max([worst, *(_distance(before[name], after[name]) for name in before)])
    return worst


def _distance(one: np.ndarray, two: np.ndarray) -> float:
    return float(np.abs(one.astype(np.float64) - two).max() / max(1.0, float(np.abs(one).max())))


def _tied(model: ir.Model, arrays: dict[str, np.ndarray]) -> bool:
    """Whether a router's best are not a matter of its scores: one that is taken is as good as one that is not.

    A mutation may put a Relu behind a router; which of several zeros is taken is then up to the kernel.
    """
    looked = model.clone()
    routed = [node.inputs[ROUTER[node.op_type]] for node in looked.graph if node.op_type in ROUTER]
    for number, scores in enumerate(routed):
        scores.name = scores.name or f"scores.{number}"
    looked.graph.outputs.extend(dict.fromkeys(routed))
    found = run(looked, arrays)
    ranked = [-np.sort(-found[scores.name], axis=-1) for scores in routed]
    return any((scores[..., CHOSEN - 1] - scores[..., CHOSEN] < 1e-6).any() for scores in ranked)


def kept() -> list[int]:
    """Seeds that failed once."""
    return list(json.loads(SEEDS.read_text("utf-8"))["seeds"])


def main(count: int, first: int = 0) -> None:
    start, fired = time.perf_counter(), collections.Counter[str]()
    totals = collections.Counter[str]()
    failed: list[Outcome] = []
    for seed in range(first, first + count):
        outcome = example(seed)
        totals["valid"] += outcome.valid
        totals["fired"] += bool(outcome.fired)
        totals["refused"] += bool(outcome.refused)
        totals["undecided"] += outcome.undecided
        fired.update(outcome.fired)
        if outcome.problem:
            failed.append(outcome)
            print(outcome, flush=True)
    seconds = time.perf_counter() - start
    print(f"{count} examples in {seconds:.0f} s: {dict(totals)}; failed {len(failed)}")
    print("\n".join(f"  {rule.name} {fired[rule.name]}" for rule in RULES))
    if failed:
        seeds = sorted({*kept(), *(outcome.seed for outcome in failed)})
        SEEDS.write_text(json.dumps({"seeds": seeds}) + "\n", "utf-8")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
