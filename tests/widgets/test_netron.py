"""Netron: one process and one private folder a model, nothing left behind."""

from __future__ import annotations

import datetime
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import helper, numpy_helper, parser

from workbench.errors import ExecutionError, ModelFileError, UnsupportedError
from workbench.widgets import netron as ours
from workbench.widgets.light_model import KEPT_BYTES, light_bytes
from workbench.widgets.netron import NetronView, age_notice, open_in_netron
from workbench.widgets.netron_tab import NetronTab


def tiny(op: str) -> onnx.ModelProto:
    return parser.parse_model(
        f'<ir_version: 10, opset_import: ["": 18]> g (float[2] x) => (float[2] y) {{ y = {op} (x) }}'
    )


def get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=10) as answer:
        data: bytes = answer.read()
        return data


def served(view: NetronView) -> onnx.ModelProto:
    """What a browser would load: the file that the page names."""
    page = get(view.url).decode()
    found = re.search(r'<meta name="file" content="([^"]+)"', page)
    assert found is not None
    return onnx.load_from_string(get(view.url + found.group(1)))


def folder_of(view: NetronView) -> Path:
    return Path(view._process.args[-1])


class TestServing:
    def test_two_models_in_two_processes_are_two_models(self) -> None:
        with open_in_netron(tiny("Relu"), name="one") as one, open_in_netron(tiny("Sin"), name="two") as two:
            assert [served(view).graph.node[0].op_type for view in (one, two)] == ["Relu", "Sin"]
            assert one.url != two.url and one._process.pid != two._process.pid

    def test_the_folder_is_private_and_holds_only_our_file(self) -> None:
        with open_in_netron(tiny("Relu"), name="one") as view:
            folder = folder_of(view)
            assert folder.stat().st_mode & 0o777 == 0o700
            assert sorted(os.listdir(folder)) == ["netron.log", "one.onnx"]
            assert view.url.startswith("http://127.0.0.1:")
            with pytest.raises(urllib.error.HTTPError, match="404"):
                get(view.url + "/data/..%2f..%2fetc%2fpasswd")

    def test_the_page_reports_nothing_and_may_talk_to_nobody_else(self) -> None:
        with open_in_netron(tiny("Relu")) as view, urllib.request.urlopen(view.url, timeout=10) as answer:
            assert answer.headers["Content-Security-Policy"] == "connect-src 'self'"
            assert '<meta name="version" content="0.0.0">' in answer.read().decode()

    def test_close_ends_the_process_and_removes_the_folder(self) -> None:
        view = open_in_netron(tiny("Relu"), name="one")
        folder, process = folder_of(view), view._process
        view.close()
        view.close()
        assert view.closed and process.poll() is not None and not folder.exists()
        assert repr(view) == "NetronView(one, closed)"
        assert "is closed" in view.to_html()
        with pytest.raises(OSError):
            get(view.url)

    def test_a_view_that_is_forgotten_closes_itself(self) -> None:
        view = open_in_netron(tiny("Relu"))
        folder, process = folder_of(view), view._process
        del view
        assert process.wait(10) is not None and not folder.exists()

    @pytest.mark.parametrize("ending", ["pass", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"])
    def test_it_ends_with_the_kernel_even_a_killed_one(self, ending: str) -> None:
        code = (
            "from onnx import parser; from workbench.widgets.netron import open_in_netron\n"
            'm = parser.parse_model(\'<ir_version: 10, opset_import: ["": 18]> g (float[2] x) => (float[2] y)'
            " { y = Relu (x) }')\n"
            f"v = open_in_netron(m); print(v.url, v._process.args[-1], flush=True); {ending}\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        url, folder = done.stdout.split()
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and Path(folder).exists():
            time.sleep(0.1)
        assert not Path(folder).exists()
        with pytest.raises(OSError):
            get(url)

    def test_html_has_a_frame_and_escapes_the_name(self) -> None:
        with open_in_netron(tiny("Relu"), name="<b>x</b>", height=300) as view:
            bundle = view._repr_mimebundle_()
            assert "<b>x" not in bundle["text/html"]
            assert f'<iframe src="{view.url}"' in bundle["text/html"] and 'height="300"' in bundle["text/html"]
            assert bundle["text/plain"] == "NetronView(<b>x</b>)"
            assert b"<b>x" not in get(view.url)


class TestErrors:
    def test_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(ModelFileError, match="There is no ONNX file"):
            open_in_netron(tmp_path / "nothing.onnx")

    def test_netron_that_does_not_start_leaves_nothing(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        broken = tmp_path / "broken.py"
        broken.write_text("raise SystemExit(3)")
        monkeypatch.setattr(ours, "_SERVER", broken)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        with pytest.raises(ExecutionError, match="Netron did not start for 'one'.*python -m netron"):
            open_in_netron(tiny("Relu"), name="one")
        assert os.listdir(tmp_path) == ["broken.py"]

    def test_netron_is_not_installed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        with pytest.raises(UnsupportedError, match="pip install netron"):
            open_in_netron(tiny("Relu"))


class TestAge:
    PAGE = '<meta name="date" content="2026-10-23 19:50:08">'

    @pytest.mark.parametrize(("days", "old"), [(0, False), (180, False), (181, True)])
    def test_notice_after_180_days(self, days: int, old: bool) -> None:
        today = datetime.date(2026, 10, 23) + datetime.timedelta(days=days)
        assert bool(age_notice(today, self.PAGE)) is old

    def test_says_what_to_do(self) -> None:
        text = age_notice(datetime.date(2027, 6, 1), self.PAGE)
        assert text == (
            "The installed Netron was built on 2026-10-23, 221 days ago. After 180 days it only asks to be updated and "
            "shows no model. Update it with: pip install --upgrade netron"
        )

    def test_the_installed_netron_still_carries_its_date(self) -> None:
        assert age_notice(datetime.date(2100, 1, 1))

    def test_no_date_no_notice(self) -> None:
        assert age_notice(datetime.date(2100, 1, 1), "<html>") == ""


class TestLightModel:
    def model(self) -> ir.Model:
        """A large and a small initializer, a large constant in a branch, and a function."""
        large = np.ones(KEPT_BYTES, np.float32)
        constant = helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(large, "c"))
        out = helper.make_tensor_value_info("c", 1, [KEPT_BYTES])
        branch = helper.make_graph([constant], "branch", [], [out])
        nodes = [
            helper.make_node("If", ["cond"], ["t"], then_branch=branch, else_branch=branch),
            helper.make_node("Add", ["t", "large"], ["u"]),
            helper.make_node("Reshape", ["u", "small"], ["v"]),
            helper.make_node("f", ["v"], ["y"], domain="local"),
        ]
        graph = helper.make_graph(
            nodes, "g", [helper.make_tensor_value_info("cond", 9, [])], [helper.make_tensor_value_info("y", 1, None)],
            [numpy_helper.from_array(large, "large"), numpy_helper.from_array(np.array([-1]), "small")],
        )  # fmt: skip
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)]
        f = helper.make_function("local", "f", ["a"], ["b"], [helper.make_node("Relu", ["a"], ["b"])], opsets[:1])
        return ir.from_proto(helper.make_model(graph, functions=[f], opset_imports=opsets, ir_version=10))

    def test_weights_go_and_everything_else_stays(self) -> None:
        model = self.model()
        data = light_bytes(model)
        assert len(data) < 2 * KEPT_BYTES
        light = onnx.load_from_string(data)
        tensors = {t.name: t for t in light.graph.initializer}
        assert tensors["large"].data_location == onnx.TensorProto.EXTERNAL
        assert list(tensors["large"].dims) == [KEPT_BYTES]
        assert numpy_helper.to_array(tensors["small"]).tolist() == [-1]
        assert [n.op_type for n in light.graph.node] == ["If", "Add", "Reshape", "f"]
        assert light.functions[0].name == "f"
        branch = light.graph.node[0].attribute[0].g.node[0].attribute[0].t
        assert branch.data_location == onnx.TensorProto.EXTERNAL

    def test_the_model_is_not_touched(self) -> None:
        model = self.model()
        before = ir.to_proto(model).SerializeToString()
        light_bytes(model)
        assert ir.to_proto(model).SerializeToString() == before

    def test_weights_that_are_not_there_are_not_read(self) -> None:
        absent = ir.ExternalTensor("gone.bin", 0, 4_000_000_000, ir.DataType.FLOAT, shape=ir.Shape([10**9]), name="w")
        model = self.model()
        model.graph.initializers["large"].const_value = absent
        assert len(light_bytes(model)) < 2 * KEPT_BYTES


class TestTab:
    def test_two_graphs_side_by_side_and_closed(self) -> None:
        tab = NetronTab()
        assert tab.open_button.disabled
        tab.offer({"generic": ir.from_proto(tiny("Relu")), "cpu": ir.from_proto(tiny("Sin"))})
        tab.open_button.click()
        assert [served(view).graph.node[0].op_type for view in tab.views] == ["Relu", "Sin"]
        assert all("<iframe" in frame.value for frame in tab.frames)
        views = tab.views
        tab.close_button.click()
        assert all(view.closed for view in views)
        assert [frame.value for frame in tab.frames] == ["", ""] and tab.close_button.disabled

    def test_an_error_is_text(self, monkeypatch: pytest.MonkeyPatch) -> None:
        tab = NetronTab()
        tab.offer({"generic": ir.from_proto(tiny("Relu"))})
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        tab.open_button.click()
        assert "pip install netron" in tab.message.value and tab.views == ()
