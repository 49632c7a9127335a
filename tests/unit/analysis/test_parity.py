"""Numbers of parity: against formulas worked out here another way, and everything that must never be 'ok'."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from tests.unit.analysis.results import OPTIONS, TOLERANCE, VERSIONS, logits, parity_rows, report, subject
from workbench.analysis.decades import at_most, bound, comparison, decade
from workbench.analysis.parity import PREFILL, ParityRow, compare_logits, not_run, sample_logits
from workbench.analysis.parity_report import PARITY_COLUMNS, ParityReport
from workbench.errors import FeedsError, UnknownNameError
from workbench.types import Tolerance

ALL = np.ones((1, 4), dtype=bool)


def compare(reference: object, candidate: object, valid: object = ALL, **changes: object) -> tuple[ParityRow, ...]:
    options = {"floor": None, "tolerance": TOLERANCE, "subject": subject(), "case": PREFILL} | changes
    return compare_logits(reference, candidate, valid, **options)


class TestNumbers:
    def test_errors_are_over_the_vocabulary_of_each_position(self) -> None:
        reference, candidate = logits(noise=1e-2)
        rows = compare(reference, candidate)
        error = np.abs(candidate.astype(np.float64) - reference)
        assert [row.max_abs for row in rows] == pytest.approx(error.max(-1)[0])
        assert [row.mean_abs for row in rows] == pytest.approx(error.mean(-1)[0])
        assert [row.position for row in rows] == [0, 1, 2, 3]

    def test_kl_is_from_reference_to_candidate(self) -> None:
        p, q = np.array([0.5, 0.25, 0.25]), np.array([0.7, 0.2, 0.1])
        (row,) = compare(np.log(p)[None, None] + 3, np.log(q)[None, None] - 5, [[True]])
        assert row.kl == pytest.approx(float((p * np.log(p / q)).sum()))

    def test_kl_of_large_logits_does_not_overflow(self) -> None:
        (row,) = compare([[[1e4, 0.0]]], [[[1e4, 1.0]]], [[True]])
        assert row.kl == pytest.approx(0.0, abs=1e-12)

    def test_equal_runs_are_exactly_zero(self) -> None:
        reference, _ = logits()
        rows = compare(reference, reference.copy())
        assert {(row.max_abs, row.kl, row.top1, row.verdict) for row in rows} == {(0.0, 0.0, True, "ok")}

    def test_padded_positions_have_no_row_and_may_hold_anything(self) -> None:
        reference, candidate = logits(2, 4)
        candidate[1, 2:] = np.nan
        valid = np.array([[1, 1, 1, 1], [1, 1, 0, 0]], dtype=bool)
        rows = compare(reference, candidate, valid, first_position=10)
        assert [(row.row, row.position) for row in rows] == [
            (0, 10),
            (0, 11),
            (0, 12),
            (0, 13),
            (1, 10),
            (1, 11),
        ]
        assert {row.verdict for row in rows} == {"ok"}

    def test_floor_is_per_position(self) -> None:
        reference, candidate = logits()
        floor = np.array([[1.0, 2.0, 3.0, 4.0]])
        assert [row.floor for row in compare(reference, candidate, floor=floor)] == [1, 2, 3, 4]


class TestVerdict:
    def test_one_position_beyond_the_tolerance_differs(self) -> None:
        reference, candidate = logits()
        candidate[0, 2, 5] = reference[0, 2, 5] + 0.5
        rows = compare(reference, candidate)
        assert [row.verdict for row in rows] == ["ok", "ok", "differs", "ok"]
        assert rows[2].reason == "max|d| 0.5 is beyond 0.03 (2 x floor)"

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize("atol", [1e-3, 1e30])
    def test_nan_and_inf_are_never_ok(self, value: float, atol: float) -> None:
        reference, candidate = logits()
        candidate[0, 1, 3] = value
        row = compare(reference, candidate, tolerance=Tolerance(atol, "test"))[1]
        assert row.verdict == "differs"
        assert row.reason == "1 of 50 logits are NaN or Inf"
        assert math.isnan(row.max_abs) and row.top1 is False

    def test_float16_is_judged_in_float64(self) -> None:
        (row,) = compare([[[6e4, -6e4]]], np.array([[[-6e4, 6e4]]], np.float16), [[True]])
        assert row.max_abs == pytest.approx(12e4)
        assert row.verdict == "differs"


class TestBadInput:
    def test_shapes_that_do_not_fit(self) -> None:
        reference, candidate = logits()
        with pytest.raises(FeedsError, match=r"'logits': the reference has shape \(1, 4, 50\).*\(1, 3, 50\)"):
            compare(reference, candidate[:, :3])
        with pytest.raises(FeedsError, match=r"valid has shape \(1, 3\), not \[B, S\] = \(1, 4\)"):
            compare(reference, candidate, ALL[:, :3])
        with pytest.raises(FeedsError, match=r"floor has shape \(3,\)"):
            compare(reference, candidate, floor=np.zeros(3))

    def test_nothing_to_compare(self) -> None:
        reference, candidate = logits()
        with pytest.raises(FeedsError, match="no position is valid"):
            compare(reference, candidate, ~ALL)

    def test_a_reference_with_nan_judges_nothing(self) -> None:
        reference, candidate = logits()
        reference[0, 0, 0] = np.nan
        with pytest.raises(FeedsError, match="the reference itself holds NaN"):
            compare(reference, candidate)

    def test_not_run_needs_a_reason(self) -> None:
        with pytest.raises(ValueError, match="needs the reason"):
            not_run(subject(), PREFILL, "", TOLERANCE)


class TestSample:
    def test_is_bounded_and_repeatable(self) -> None:
        reference, candidate = logits(2, 10, 5000)
        valid = np.ones((2, 10), dtype=bool)
        one, two = (sample_logits(reference, candidate, valid, subject=subject(), seed=3) for _ in range(2))
        assert len(one.reference) == len(one.candidate) == 20_000
        assert (one.reference == two.reference).all()
        other = sample_logits(reference, candidate, valid, subject=subject(), seed=4)
        assert (one.reference != other.reference).any()

    def test_pairs_stay_pairs(self) -> None:
        reference, _ = logits(1, 10, 5000)
        sample = sample_logits(reference, reference + 1, np.ones((1, 10), bool), subject=subject(), seed=0)
        assert np.allclose(sample.candidate - sample.reference, 1)


class TestReport:
    def test_frame_begins_with_the_columns_promised(self) -> None:
        frame = report().to_frame()
        assert list(frame.columns) == PARITY_COLUMNS
        assert list(frame.columns[:13]) == [
            "execution_provider",
            "dtype",
            "executor",
            "label",
            "output",
            "position",
            "max_abs",
            "mean_abs",
            "kl",
            "top1",
            "floor",
            "tolerance",
            "verdict",
        ]
        assert frame.tolerance.unique().tolist() == [3e-2]

    def test_summary_has_the_worst_of_each_case(self) -> None:
        found = report()
        frame, summary = found.to_frame(), found.summary().to_frame()
        assert len(summary) == 9
        dml = frame[(frame.execution_provider == "dml") & (frame.case == "right-padded")]
        row = summary[(summary.execution_provider == "dml") & (summary.case == "right-padded")].iloc[0]
        assert row.max_abs == dml.max_abs.max()
        assert row.kl == dml.kl.max()
        assert row.positions == 10

    def test_text_is_machine_stable(self) -> None:
        assert repr(report()).splitlines() == [
            "ParityReport(against generic float32 on ort-cpu: ok)",
            "  cpu float16 on ort-cpu (graph-on-cpu): max|d| 1e-5 <= 3e-2 (2 x floor) ok, top1 19/19",
            "  dml float16 on ort-cpu (graph-on-cpu): max|d| 1e-2 <= 3e-2 (2 x floor) ok, top1 19/19",
            "  onnx-standard float16 on ort-cpu (graph-on-cpu): max|d| 0 <= 3e-2 (2 x floor) ok, top1 19/19",
        ]

    def test_what_differs_and_what_did_not_run_is_said(self) -> None:
        found = report(bad=True)
        assert found.verdict == "differs"
        text = repr(found)
        assert "nan float16 on ort-cpu (graph-on-cpu): max|d| NaN (2 x floor) differs, top1 16/19" in text
        assert "1 of 50 logits are NaN or Inf" in text
        assert "cuda float16: not run: no CUDA kernels on this machine" in text
        last = found.summary().to_frame().iloc[-1]
        assert (last.verdict, last.label, last.positions) == ("not run", "not-run", 0)
        assert math.isnan(last.max_abs) and math.isnan(last.top1)

    def test_nothing_that_ran_is_not_ok(self) -> None:
        row = not_run(subject(), PREFILL, "no kernels", TOLERANCE)
        assert ParityReport((row,), "generic", 0, VERSIONS, {}).verdict == "not run"

    def test_nan_hides_behind_no_larger_number(self) -> None:
        found = next(g for g in report(bad=True).overall() if g.execution_provider == "nan")
        assert math.isnan(found.max_abs) and found.verdict == "differs"

    def test_unknown_plot(self) -> None:
        with pytest.raises(UnknownNameError, match="Unknown parity plot 'scater'. Did you mean 'scatter'"):
            report().plot("scater")

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"executor": ""}, "executor, dtype"),
            ({"dtype": ""}, "executor, dtype"),
            ({"label": "gpu"}, "unknown label 'gpu'"),
            ({"floor": float("nan")}, "the floor is missing"),
            ({"tolerance": Tolerance(float("inf"), "any")}, "cannot fail"),
            ({"tolerance": Tolerance(1e-3, "")}, "reason of the tolerance"),
            ({"max_abs": 1.0}, "'ok' with max_abs 1.0 beyond"),
            ({"max_abs": float("nan")}, "'ok' with max_abs nan beyond"),
            ({"verdict": "not run"}, "needs a reason"),
        ],
    )
    def test_cannot_be_made_without(self, change: dict[str, object], message: str) -> None:
        rows, _ = parity_rows(subject(), 1e-3)
        bad = dataclasses.replace(rows[0], **change)
        with pytest.raises(ValueError, match=message):
            ParityReport((bad,), "generic", 0, VERSIONS, OPTIONS)

    def test_cannot_be_made_without_versions_rows_or_options(self) -> None:
        rows, _ = parity_rows(subject(), 1e-3)
        with pytest.raises(ValueError, match="versions"):
            ParityReport(rows, "generic", 0, {}, OPTIONS)
        with pytest.raises(ValueError, match="at least one row"):
            ParityReport((), "generic", 0, VERSIONS, OPTIONS)
        with pytest.raises(ValueError, match="session options"):
            ParityReport(rows, "generic", 0, VERSIONS, {})
        with pytest.raises(TypeError, match="seed"):
            ParityReport(rows, "generic", versions=VERSIONS, session_options=OPTIONS)

    def test_html_is_escaped(self) -> None:
        found = dataclasses.replace(report(), prompts=("<img src=x>",))
        assert "<img" not in found._repr_html_()


class TestDecades:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (0.0, "0"),
            (1e-6, "1e-6"),
            (1.0001e-6, "1e-5"),
            (9.9e-7, "1e-6"),
            (0.5, "1e0"),
            (1.0, "1e0"),
            (3.0, "1e1"),
            (math.nan, "NaN"),
            (math.inf, "inf"),
        ],
    )
    def test_rounds_up(self, value: float, text: str) -> None:
        assert decade(value) == text

    @pytest.mark.parametrize("exponent", range(-12, 6))
    def test_powers_of_ten_stay(self, exponent: int) -> None:
        assert decade(float(f"1e{exponent}")) == f"1e{exponent}"

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (2e-4, "2e-4"),
            (2.34e-4, "3e-4"),
            (1e-5, "1e-5"),
            (0.0, "0"),
            (0.109, "2e-1"),
            (9.5e-3, "1e-2"),
            (3.0, "3e0"),
        ],
    )
    def test_bound_rounds_up_to_one_digit(self, value: float, text: str) -> None:
        assert bound(value) == text

    @pytest.mark.parametrize("exponent", range(-12, 6))
    @pytest.mark.parametrize("digit", range(1, 10))
    def test_one_digit_stays(self, digit: int, exponent: int) -> None:
        assert bound(float(f"{digit}e{exponent}")) == f"{digit}e{exponent}"

    @pytest.mark.parametrize("value", [0.0, 1e-9, 1.5e-4, 2e-4, 1.9999e-4])
    def test_comparison_reads_true(self, value: float) -> None:
        text = comparison(value, 2e-4)
        shown = [float(word) for word in text.replace("max|d|", "").split("<=") if word.strip()]
        assert shown == sorted(shown)
        assert shown[-1] == 2e-4

    def test_beyond_the_limit_enough_digits_are_shown(self) -> None:
        assert comparison(5e-4, 2e-4) == "max|d| 0.0005 > 0.0002"
        assert comparison(2.04e-4, 2e-4) == "max|d| 0.000204 > 0.0002"
        assert comparison(5e-4, 2.34e-4) == "max|d| 0.0005 > 0.00023"
        assert comparison(math.nan, 2e-4) == "max|d| NaN"

    def test_noise_is_not_spelt_out(self) -> None:
        assert (at_most(1e-17, 1e-9), at_most(3e-7, 1e-9)) == ("<= 1e-9", "1e-6")
