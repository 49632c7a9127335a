"""Operators, fusions and misses side by side."""

from __future__ import annotations

from tests.unit.analysis.results import EVIL, FUSED, GENERIC, LAYERS, REPORTS
from workbench.analysis.misses import fold_names, miss_table
from workbench.analysis.tables import FUSION_COLUMNS, OP_COLUMNS, fusion_table, op_table


class TestOps:
    table = op_table({"webgpu": FUSED, "generic": GENERIC, "cpu": FUSED})

    def test_generic_is_first_and_the_others_keep_their_order(self) -> None:
        frame = self.table.to_frame()
        assert list(frame.columns) == OP_COLUMNS == ["execution_provider", "domain", "op_type", "count"]
        assert list(frame.execution_provider.unique()) == ["generic", "webgpu", "cpu"]
        assert frame[frame.execution_provider == "generic"]["count"].sum() == GENERIC.total

    def test_pivot_fills_with_zero(self) -> None:
        pivot = self.table.pivot()
        assert list(pivot.columns) == ["generic", "webgpu", "cpu"]
        assert pivot.loc[("com.microsoft", "GroupQueryAttention")].tolist() == [0, LAYERS, LAYERS]
        assert pivot.loc[("", "Attention")].tolist() == [LAYERS, 0, 0]
        assert pivot.dtypes.unique().tolist() == ["int64"]
        assert self.table.count("cpu", "GroupQueryAttention") == LAYERS

    def test_repr_and_html(self) -> None:
        assert repr(self.table).splitlines() == [
            "OpTable(3 graphs)",
            "  generic: 302 nodes, 4 operators: MatMul 211, Add 60, Attention 30, ep_workbench.CausalMask 1",
            "  webgpu: 184 nodes, 4 operators: MatMul 151, com.microsoft.GroupQueryAttention 30, Add 2, Sub 1",
            "  cpu: 184 nodes, 4 operators: MatMul 151, com.microsoft.GroupQueryAttention 30, Add 2, Sub 1",
        ]
        assert "all nodes" in self.table._repr_html_()
        assert "No graph has any node." in op_table({})._repr_html_()


class TestFusions:
    table = fusion_table(REPORTS)

    def test_frame(self) -> None:
        frame = self.table.to_frame()
        assert list(frame.columns) == FUSION_COLUMNS
        assert frame.to_numpy().tolist() == [
            ["cpu", "fuse/gqa", LAYERS, LAYERS, 0, 0, 0],
            ["dml", "fuse/gqa", LAYERS, LAYERS - 4, 0, 3, 1],
            ["dml", "lower/separate_rope", LAYERS, LAYERS, 0, 0, 0],
        ]

    def test_rules_in_pipeline_order_and_those_never_planned(self) -> None:
        assert self.table.rules() == ["fuse/gqa", "fuse/pack_qkv", "lower/separate_rope"]
        assert self.table.row("cpu", "fuse/pack_qkv") is None

    def test_plan_says_why(self) -> None:
        plan = self.table.plan()
        assert repr(plan).splitlines()[3] == "  dml - fuse/pack_qkv: dml has no packed QKV"
        assert "dml has no packed QKV" in plan._repr_html_()
        assert plan.to_frame().to_numpy().tolist() == [
            ["cpu", "fuse/gqa", True, "cpu has the kernel"],
            ["dml", "fuse/gqa", True, "dml has the kernel"],
            ["dml", "lower/separate_rope", True, "dml has the kernel"],
            ["dml", "fuse/pack_qkv", False, "dml has no packed QKV"],
            ["onnx-standard", "fuse/gqa", False, "no com.microsoft kernels"],
        ]

    def test_repr_and_html(self) -> None:
        assert repr(self.table).splitlines() == [
            "FusionTable(applied/candidates)",
            "  cpu: fuse/gqa 30/30",
            "  dml: fuse/gqa 26/30, lower/separate_rope 30/30",
            "  onnx-standard: no rules planned",
        ]
        assert "onnx-standard: no rules planned" in self.table._repr_html_()
        only = fusion_table({"onnx-standard": REPORTS["onnx-standard"]})
        assert "No rule was planned for onnx-standard." in only._repr_html_()
        assert list(only.to_frame().columns) == FUSION_COLUMNS


class TestMisses:
    table = miss_table(REPORTS)

    def test_frame_names_every_node(self) -> None:
        frame = self.table.to_frame()
        assert list(frame.columns) == ["execution_provider", "rule", "node", "scope", "kind", "reason"]
        assert len(frame) == 4
        assert frame.iloc[2].tolist() == [
            "dml",
            "fuse/gqa",
            "node_2",
            "model.layers.2.self_attn",
            "precondition",
            f"a bias of {EVIL} is added",
        ]

    def test_summary_folds_layers(self) -> None:
        rows = [(g.where, g.nodes, g.kind) for g in self.table.summary().rows]
        assert rows == [
            ("model.layers.0-2.self_attn (3)", 3, "precondition"),
            ("model.layers.0.self_attn (1)", 1, "unmatched"),
        ]

    def test_text_of_a_graph_is_escaped(self) -> None:
        for page in (self.table._repr_html_(), self.table.summary()._repr_html_()):
            assert "<script>" not in page
            assert "&lt;script&gt;" in page

    def test_no_misses_is_said(self) -> None:
        nothing = miss_table({"cpu": REPORTS["cpu"]})
        assert repr(nothing) == "MissTable(0 misses)"
        assert "Every candidate was rewritten" in nothing._repr_html_()
        assert nothing.to_frame().empty


def test_fold_names() -> None:
    assert fold_names(f"layers.{i}.mlp" for i in (0, 1, 2, 5, 7, 8)) == "layers.0-2,5,7-8.mlp"
    assert fold_names(f"layers.{i}.experts.{j}" for i in (0, 1) for j in (0, 1, 2)) == "layers.0-1.experts.0-2"
    assert fold_names(["norm"]) == "norm"
    assert fold_names(["conv2d.v1"]) == "conv2d.v1"
