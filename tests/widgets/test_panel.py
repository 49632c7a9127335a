"""The panel without a browser: what it asks for, what it shows, what it says when something goes wrong."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import ipywidgets
import pytest

from tests.unit.analysis.results import EVIL, FakeComparison
from workbench.ep import default_comparison, execution_providers
from workbench.errors import ArgumentError, FeedsError, UnknownNameError, WeightsError
from workbench.widgets.panel import TABS, ComparePanel


class Fake:
    """Stands for ``compare``: remembers its calls, and fails or waits when told."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.calls: list[tuple[Any, dict[str, Any]]] = []
        self.error = error
        self.entered, self.go_on = threading.Event(), threading.Event()
        self.go_on.set()
        self.comparison = FakeComparison()

    def __call__(self, model: Any, **options: Any) -> FakeComparison:
        self.calls.append((model, options))
        self.entered.set()
        assert self.go_on.wait(10)
        if self.error is not None:
            raise self.error
        return self.comparison


@pytest.fixture
def fake() -> Fake:
    return Fake()


@pytest.fixture
def panel(fake: Fake) -> Iterator[ComparePanel]:
    made = ComparePanel("tiny", compare=fake)
    yield made
    made.close()


def shown(panel: ComparePanel) -> str:
    return "".join(page.value for page in panel.pages.values())


def test_offers_every_provider_and_ticks_the_usual_ones(panel: ComparePanel) -> None:
    assert tuple(panel.provider_boxes) == execution_providers()
    assert tuple(name for name, box in panel.provider_boxes.items() if box.value) == default_comparison()


def test_run_gives_compare_what_the_controls_say(panel: ComparePanel, fake: Fake) -> None:
    for box in panel.provider_boxes.values():
        box.value = False
    chosen = list(panel.provider_boxes)[1]
    panel.provider_boxes[chosen].value = True
    panel.dtype_box.value = "float32"
    assert panel.run() is panel
    assert fake.calls == [("tiny", {"execution_providers": (chosen,), "dtype": "float32"})]


def test_a_model_object_is_handed_over_as_it_is(fake: Fake) -> None:
    model = object()
    panel = ComparePanel(model, compare=fake).run()
    assert fake.calls[0][0] is model
    panel.close()


def test_results_are_on_their_tabs(panel: ComparePanel) -> None:
    panel.run()
    assert panel.state == "done" and panel.results is not None
    assert "GroupQueryAttention" in panel.pages["Ops"].value
    assert "26/30" in panel.pages["Fusions"].value
    assert "model.layers.0-2.self_attn (3)" in panel.pages["Misses"].value
    assert "max|d| 1e-2 &lt;= 3e-2" in panel.pages["Parity"].value
    assert [page.value.count("data:image/png") for page in panel.pages.values()] == [1, 1, 1, 2]
    assert "Done: parity ok." in panel.status.value
    assert list(panel.netron.left.options) == ["generic", *panel.results.comparison]


def test_tab_titles() -> None:
    panel = ComparePanel(compare=Fake())
    tab = next(child for child in panel.children if isinstance(child, ipywidgets.Tab))
    assert tuple(tab.titles) == TABS == ("Ops", "Fusions", "Misses", "Parity", "Netron")
    panel.close()


def test_a_name_from_a_model_is_never_markup(panel: ComparePanel) -> None:
    panel.run()
    bundle = panel._repr_mimebundle_()
    assert EVIL not in shown(panel) + bundle["text/html"]
    assert "&lt;script&gt;" in bundle["text/html"]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (WeightsError(f"no weights {EVIL}"), "no weights &lt;script&gt;"),
        (RuntimeError("boom <b>"), "Unexpected RuntimeError: boom &lt;b&gt;"),
    ],
)
def test_errors_are_text_in_the_panel(error: Exception, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    panel = ComparePanel("tiny", compare=Fake(error)).run()
    assert panel.state == "failed" and panel.results is None
    for name in TABS[:-1]:
        assert said in panel.pages[name].value and "Traceback" not in panel.pages[name].value
    assert str(error) in repr(panel)
    assert not panel.run_button.disabled and panel.cancel_button.disabled
    assert capsys.readouterr() == ("", "")
    panel.close()


def test_graphs_are_shown_though_parity_fails(panel: ComparePanel, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without a tokenizer, say: what is known stays, and only Parity says why it is not."""

    def parity(*_: object, **__: object) -> None:
        raise FeedsError("no tokenizer")

    monkeypatch.setattr(fake.comparison, "parity", parity, raising=False)
    panel.run()
    assert panel.state == "failed" and panel.results is not None and panel.results.parity is None
    assert "no tokenizer" in panel.pages["Parity"].value and "no tokenizer" in repr(panel)
    assert "GroupQueryAttention" in panel.pages["Ops"].value and "26/30" in panel.pages["Fusions"].value
    assert list(panel.netron.left.options) == ["generic", *panel.results.comparison]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"execution_providers": 5}, "execution_providers must be a list of names; found int 5"),
        ({"execution_providers": [5]}, "execution_providers must be a list of names; found list"),
        ({"prompt": 5}, "prompt must be a text; found int 5"),
    ],
)
def test_arguments_of_other_types(words: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        ComparePanel("tiny", **words)


def test_one_name_and_no_prompt(fake: Fake) -> None:
    panel = ComparePanel("tiny", "cpu", prompt=None, compare=fake).run()
    assert fake.calls[0][1]["execution_providers"] == ("cpu",) and panel.prompt_box.value == ""
    panel.close()


def test_an_error_is_gone_after_the_next_run(fake: Fake, panel: ComparePanel) -> None:
    fake.error = WeightsError("no weights")
    panel.run()
    fake.error = None
    panel.run()
    assert "no weights" not in shown(panel) + repr(panel)
    assert panel.state == "done"


def test_nothing_ticked_is_said(panel: ComparePanel) -> None:
    for box in panel.provider_boxes.values():
        box.value = False
    panel.run()
    assert "tick at least one" in panel.problem
    assert "no execution provider" in repr(panel)


def test_an_unknown_dtype_is_one_clear_error() -> None:
    with pytest.raises(UnknownNameError, match="Unknown dtype 'float61'. Did you mean 'float"):
        ComparePanel(dtype="float61")


def test_an_interrupt_passes_and_leaves_the_panel_usable() -> None:
    panel = ComparePanel("tiny", compare=Fake(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        panel.run()
    assert panel.state == "interrupted" and not panel.run_button.disabled
    panel.close()


class TestBackground:
    def test_run_button_works_in_a_thread(self, panel: ComparePanel, fake: Fake) -> None:
        fake.go_on.clear()
        panel.run_button.click()
        assert fake.entered.wait(10)
        assert panel.run_button.disabled and not panel.cancel_button.disabled
        assert not panel.wait(0)
        fake.go_on.set()
        assert panel.wait(30)
        assert panel.state == "done" and not panel.run_button.disabled and panel.cancel_button.disabled

    def test_cancel_drops_the_result_of_the_step(self, panel: ComparePanel, fake: Fake) -> None:
        fake.go_on.clear()
        panel.run_button.click()
        assert fake.entered.wait(10)
        panel.cancel_button.click()
        assert "Stopping after this step" in panel.status.value
        fake.go_on.set()
        assert panel.wait(30)
        assert panel.state == "cancelled" and panel.results is None and fake.comparison.ran == 0
        panel.run()
        assert panel.state == "done"

    def test_a_second_click_does_not_start_a_second_run(self, panel: ComparePanel, fake: Fake) -> None:
        fake.go_on.clear()
        panel.start()
        panel.start()
        fake.go_on.set()
        assert panel.wait(30) and len(fake.calls) == 1


class TestStatic:
    def test_before_and_after(self, panel: ComparePanel) -> None:
        names = ", ".join(default_comparison())
        assert repr(panel) == f"ComparePanel(tiny: {names}; not run)"
        panel.run()
        lines = repr(panel).splitlines()
        assert lines[0] == f"ComparePanel(tiny: {names}; done)"
        assert "  cpu: fuse/gqa 30/30" in lines
        assert "ParityReport(against generic float32 on ort-cpu: ok)" in lines

    def test_bundle_has_widget_text_and_html_without_pictures(self, panel: ComparePanel) -> None:
        bundle = panel.run()._repr_mimebundle_()
        assert set(bundle) == {"application/vnd.jupyter.widget-view+json", "text/plain", "text/html"}
        assert "<table>" in bundle["text/html"] and "<img" not in bundle["text/html"]
        assert bundle["text/plain"] == repr(panel)
        assert "0x" not in bundle["text/plain"]

    def test_two_panels_say_the_same(self) -> None:
        one, two = (ComparePanel("tiny", compare=Fake()).run() for _ in range(2))
        assert repr(one) == repr(two)
        assert one._repr_mimebundle_()["text/html"] == two._repr_mimebundle_()["text/html"]
