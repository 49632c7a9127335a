"""Small results made by hand, for the tests of tables, pictures, report and panel."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnx_ir as ir
from onnx import parser

from workbench.analysis.diff import GraphDiff, diff
from workbench.analysis.histogram import OpHistogram
from workbench.analysis.misses import MissTable, miss_table
from workbench.analysis.parity import (
    DECODE,
    PREFILL,
    RIGHT_PADDED,
    LogitSample,
    ParityRow,
    Subject,
    compare_logits,
    not_run,
    sample_logits,
)
from workbench.analysis.parity_report import ParityReport
from workbench.analysis.rule_counts import rule_matrix
from workbench.analysis.rule_matrix import RuleMatrix
from workbench.analysis.tables import FusionTable, OpTable, fusion_table, op_table
from workbench.errors import Diagnostic
from workbench.rules.report import Miss, OptimizationReport, RuleReport
from workbench.types import MS_DOMAIN, MissKind, OpId, Stage, Tolerance

EVIL = "<script>alert('x')</script>"
LAYERS = 30

GENERIC = OpHistogram(
    {OpId("MatMul"): 211, OpId("Attention"): LAYERS, OpId("Add"): 60, OpId("CausalMask", "ep_workbench"): 1}
)
FUSED = OpHistogram(
    {OpId("MatMul"): 151, OpId("GroupQueryAttention", MS_DOMAIN): LAYERS, OpId("Sub"): 1, OpId("Add"): 0 + 2}
)


def misses(rule: str, kind: MissKind, reason: str, count: int) -> tuple[Miss, ...]:
    """One miss a layer."""
    scopes = [f"model.layers.{i}.self_attn" for i in range(count)]
    return tuple(Miss(rule, f"node_{i}", scope, kind, reason) for i, scope in enumerate(scopes))


def optimization(
    execution_provider: str, rules: tuple[RuleReport, ...], skipped: tuple[tuple[str, str], ...] = ()
) -> OptimizationReport:
    """A report of one run of the pipeline."""
    planned = tuple((rule.rule, f"{execution_provider} has the kernel") for rule in rules)
    return OptimizationReport(execution_provider, "float16", "decoder", planned, skipped, rules)


REPORTS = {
    "cpu": optimization("cpu", (RuleReport("fuse/gqa", Stage.FUSE, LAYERS, LAYERS),)),
    "dml": optimization(
        "dml",
        (
            RuleReport(
                "fuse/gqa",
                Stage.FUSE,
                LAYERS,
                LAYERS - 4,
                misses("fuse/gqa", "precondition", f"a bias of {EVIL} is added", 3)
                + misses("fuse/gqa", "unmatched", "the mask is not known", 1),
            ),
            RuleReport("lower/separate_rope", Stage.LOWER, LAYERS, LAYERS),
        ),
        skipped=(("fuse/pack_qkv", "dml has no packed QKV"),),
    ),
    "onnx-standard": optimization("onnx-standard", (), skipped=(("fuse/gqa", "no com.microsoft kernels"),)),
}

OPTIONS = {"graph_optimization_level": "ORT_DISABLE_ALL"}
VERSIONS = {"onnxruntime": "1.32.0"}
TOLERANCE = Tolerance(3e-2, "2 x floor")


def subject(execution_provider: str = "dml", dtype: str = "float16") -> Subject:
    """Whose run it is."""
    return Subject(execution_provider, dtype, "ort-cpu", "graph-on-cpu")


def logits(
    batch: int = 1, positions: int = 4, vocabulary: int = 50, noise: float = 1e-3
) -> tuple[np.ndarray, np.ndarray]:
    """Reference and candidate, [B, S, V]."""
    random = np.random.default_rng(7)
    reference = random.normal(0, 4, (batch, positions, vocabulary)).astype(np.float32)
    return reference, reference + noise * random.uniform(-1, 1, reference.shape).astype(np.float32)


def parity_rows(who: Subject, noise: float, nan: bool = False) -> tuple[tuple[ParityRow, ...], LogitSample]:
    """Rows of all three cases of one execution provider, and its sample."""
    rows: list[ParityRow] = []
    for case, batch, positions, first in ((PREFILL, 1, 6, 0), (RIGHT_PADDED, 2, 6, 0), (DECODE, 1, 3, 6)):
        reference, candidate = logits(batch, positions, noise=noise)
        if nan:
            candidate[0, -1, 3] = np.nan
        valid = np.ones((batch, positions), dtype=bool)
        if batch == 2:
            valid[1, 4:] = False
        rows += compare_logits(
            reference,
            candidate,
            valid,
            floor=noise,
            tolerance=TOLERANCE,
            subject=who,
            case=case,
            first_position=first,
        )
        if case is PREFILL:
            sample = sample_logits(reference, candidate, valid, subject=who, seed=0)
    return tuple(rows), sample


def report(bad: bool = False) -> ParityReport:
    """Two execution providers that ran; with ``bad`` also NaN, an error beyond the tolerance and one not run."""
    names = {"cpu": 1e-6, "dml": 1e-2, "onnx-standard": 0.0} | ({"nan": 1e-2, "far": 1.0} if bad else {})
    parts = {name: parity_rows(subject(name), noise, name == "nan") for name, noise in names.items()}
    rows = tuple(row for found, _ in parts.values() for row in found)
    if bad:
        rows += (not_run(subject("cuda"), PREFILL, "no CUDA kernels on this machine", TOLERANCE),)
    samples = {name: sample for name, (_, sample) in parts.items()}
    return ParityReport(rows, "generic float32 on ort-cpu", 7, VERSIONS, OPTIONS, ("Hello",), samples)


GRAPH = """<ir_version: 10, opset_import: ["": 20, "com.microsoft": 1]>
decoder (int64[batch, sequence] input_ids, float16[batch, 3, past, 64] past_0,
         float16[batch, 3, past, 64] past_1)
      => (float16[batch, sequence, 8] logits) {
   x = Cast <to = 10> (input_ids)
   y = com.microsoft.FastGelu (x)
   logits = Identity (y)
}"""


@dataclasses.dataclass(frozen=True, eq=False)
class FakePackage:
    """What the views read of a package."""

    model: ir.Model
    dtype: str
    diagnostics: tuple[Diagnostic, ...] = ()


def _graph(text: str) -> ir.Model:
    model = ir.from_proto(parser.parse_model(text))
    for i, value in enumerate(model.graph.inputs[1:]):
        value.name = f"past_key_values.{i}.key"
    return model


class FakeComparison(dict[str, FakePackage]):
    """What the views read of a comparison, with hand-made results."""

    name = f"tiny {EVIL}"

    def __init__(self) -> None:
        self.generic, fused = _graph(GRAPH.replace("com.microsoft.FastGelu", "Relu")), _graph(GRAPH)
        found = (Diagnostic("legality.cast", "warning", f"a cast {EVIL}", "node", "look"),)
        super().__init__({name: FakePackage(fused, "float16", found) for name in REPORTS})
        self.ran = 0

    def ops(self) -> OpTable:
        """Operator counts."""
        return op_table({"generic": GENERIC} | dict.fromkeys(REPORTS, FUSED))

    def fusions(self) -> FusionTable:
        """Fusions."""
        return fusion_table(REPORTS)

    def misses(self) -> MissTable:
        """Misses."""
        return miss_table(REPORTS)

    def matrix(self) -> RuleMatrix:
        """Rules by layer."""
        return rule_matrix({name: (self.generic, package.model) for name, package in self.items()})

    def diff(self, name: str) -> GraphDiff:
        """A graph against the generic one."""
        return diff(self.generic, self[name].model, labels=("generic", name))

    def parity(self, prompts: object = None) -> ParityReport:
        """Parity."""
        self.ran += 1
        return report()
