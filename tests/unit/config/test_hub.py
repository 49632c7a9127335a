"""Hub ids: from a cache folder of the hub's own layout, from a server on this computer that plays the hub, refused."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from tests.cases import CASES, write_model
from workbench.config.hub import HubId, hub_id, snapshot
from workbench.config.resolve import resolve
from workbench.errors import OfflineError, WeightsError

COMMIT, OLDER = "a" * 40, "b" * 40
NAME = "some-org/tiny-llama"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the hub's client."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def cached(cache: Path, commit: str = COMMIT, ref: str | None = "main", name: str = NAME) -> Path:
    """A whole model in the cache, as the client lays it out: blobs, and links of a snapshot to them."""
    place = cache / f"models--{name.replace('/', '--')}"
    folder, blobs = place / "snapshots" / commit, place / "blobs"
    write_model(folder, CASES["gqa"])
    (folder / "tokenizer.json").write_text("{}")
    blobs.mkdir(exist_ok=True)
    for number, path in enumerate(sorted(folder.iterdir())):
        path.rename(blobs / f"{commit[0]}{number}")
        path.symlink_to(blobs / f"{commit[0]}{number}")
    if ref:
        (place / "refs").mkdir(exist_ok=True)
        (place / "refs" / ref).write_text(commit)
    return folder


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("org/name", HubId("org/name")),
        ("org/name-1.5_B@main", HubId("org/name-1.5_B", "main")),
        ("org/name@refs/pr/1", HubId("org/name", "refs/pr/1")),
        ("name", None), ("a/b/c", None), ("./a/b", None), ("/a/b", None), ("~/b", None), ("org/na me", None),
        ("org/name@", None), ("", None),
    ],
)  # fmt: skip
def test_ids(text: str, found: HubId | None) -> None:
    assert hub_id(text) == found
    assert found is None or str(found) == text


def test_cached_model_needs_no_network(cache: Path) -> None:
    folder = cached(cache)
    source = resolve(NAME)
    assert (source.name, source.origin, source.model_type, source.revision) == (NAME, "hub", "llama", COMMIT)
    assert source.weights == folder.resolve() == source.tokenizer


def test_revision(cache: Path) -> None:
    cached(cache)
    older = cached(cache, OLDER, ref="v1")
    assert resolve(f"{NAME}@v1").weights == older.resolve() == resolve(f"{NAME}@{OLDER}").weights
    assert resolve(NAME).revision == COMMIT
    with pytest.raises(OfflineError, match=f"{NAME}@v2 is not in the local Hugging Face cache"):
        resolve(f"{NAME}@v2")


def test_builds(cache: Path) -> None:
    """Down to the numbers: links into the blobs are followed."""
    from workbench.weights.load import open_weights

    cached(cache)
    weights = open_weights(resolve(NAME))
    expected = CASES["gqa"].weights
    assert set(weights) == set(expected)
    assert all(np.array_equal(weights[name].numpy(), array) for name, array in expected.items())


def test_skeleton_takes_the_config_alone(cache: Path) -> None:
    folder = cached(cache)
    (folder / "model.safetensors").unlink()
    source = resolve(NAME, load_weights=False)
    assert source.weights is None and source.origin == "hub" and source.hf["hidden_size"] == 64
    with pytest.raises(OfflineError, match="only partly in the local Hugging Face cache"):
        resolve(NAME)


def test_incomplete_shards_are_not_whole(cache: Path) -> None:
    folder = cached(cache)
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(OfflineError, match="only partly"):
        resolve(NAME)


def test_a_folder_of_that_name_goes_first(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cached(cache)
    write_model(tmp_path / NAME, CASES["mqa"])
    monkeypatch.chdir(tmp_path)
    assert resolve(NAME).origin == "folder"


def online(monkeypatch: pytest.MonkeyPatch, error: Exception) -> list[dict[str, Any]]:
    """Let the client say ``error`` to whatever is not cached; the calls it got."""
    import huggingface_hub
    from huggingface_hub.errors import LocalEntryNotFoundError

    calls: list[dict[str, Any]] = []

    def download(*arguments: Any, local_files_only: bool, **words: Any) -> str:
        if local_files_only:
            raise LocalEntryNotFoundError("not here")
        calls.append(words)
        raise error

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    monkeypatch.setattr("huggingface_hub.constants.is_offline_mode", lambda: False)
    return calls


def test_only_data_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from fnmatch import fnmatch

    calls = online(monkeypatch, ConnectionError("no route"))
    with pytest.raises(OfflineError, match=r"the hub cannot be reached \(ConnectionError\)"):
        snapshot(HubId(NAME))
    (call,) = calls
    taken = [
        name
        for name in ("config.json", "model.safetensors", "model-00001-of-00002.safetensors", "tokenizer.json",
                     "model.safetensors.index.json", "chat_template.jinja", "pytorch_model.bin", "modeling_x.py",
                     "model.pt", "onnx/model.safetensors", "consolidated.safetensors", "README.md", "x.gguf")
        if any(fnmatch(name, p) for p in call["allow_patterns"])
        and not any(fnmatch(name, p) for p in call["ignore_patterns"])
    ]  # fmt: skip
    assert taken == [
        "config.json", "model.safetensors", "model-00001-of-00002.safetensors", "tokenizer.json",
        "model.safetensors.index.json", "chat_template.jinja",
    ]  # fmt: skip


def test_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    online(monkeypatch, OSError(28, "No space left on device"))
    with pytest.raises(WeightsError, match=f"No disk space left for {NAME} .*set HF_HOME"):
        resolve(NAME)


class Hub(http.server.BaseHTTPRequestHandler):
    """The few answers of the hub that the client asks for."""

    files: ClassVar[dict[str, bytes]] = {}
    asked: ClassVar[list[str]] = []

    def do_HEAD(self) -> None:
        self.answer(False)

    def do_GET(self) -> None:
        self.answer(True)

    def answer(self, body: bool) -> None:
        path = self.path.split("?")[0]
        if "/gated" in path and "/resolve/" in path:
            return self.say(403, b"restricted", {"X-Error-Code": "GatedRepo"}, body)
        if path.startswith("/api/models/"):
            return self.model(path.removeprefix("/api/models/"), body)
        name = path.rpartition("/")[2]
        if f"/resolve/{COMMIT}/" not in path and "/resolve/main/" not in path:
            return self.say(404, b"", {"X-Error-Code": "RevisionNotFound"}, body)
        if "/absent" in path:
            return self.say(401, b"", {"X-Error-Code": "RepoNotFound"}, body)
        if name not in self.files:
            return self.say(404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT}, body)
        self.asked.append(f"{self.command} {name}")
        etag = f'"{abs(hash(self.files[name])):040x}"'
        return self.say(200, self.files[name], {"ETag": etag, "X-Repo-Commit": COMMIT}, body)

    def model(self, rest: str, body: bool) -> None:
        if rest.startswith("some-org/absent"):
            return self.say(401, b"", {"X-Error-Code": "RepoNotFound"}, body)
        if "/revision/" in rest and not rest.endswith(("/main", COMMIT)):
            return self.say(404, b"", {"X-Error-Code": "RevisionNotFound"}, body)
        info: Any = {"id": NAME, "sha": COMMIT, "siblings": [], "modelId": NAME}
        if "/tree/" in rest:
            info = [
                {"type": "file", "path": name, "size": len(data), "oid": f"{abs(hash(data)):040x}"}
                for name, data in self.files.items()
            ]
        return self.say(200, json.dumps(info).encode(), {"Content-Type": "application/json"}, body)

    def say(self, status: int, data: bytes, headers: dict[str, str], body: bool) -> None:
        self.send_response(status)
        for key, value in ({"Content-Length": str(len(data))} | headers).items():
            self.send_header(key, value)
        self.end_headers()
        if body:
            self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[str]:
    folder = write_model(tmp_path / "upstream", CASES["gqa"])
    Hub.files = {path.name: path.read_bytes() for path in folder.iterdir()}
    Hub.files |= {"tokenizer.json": b"{}", "pytorch_model.bin": b"pickle", "modeling.py": b"code", "README.md": b"#"}
    Hub.asked = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


SCRIPT = """
import sys
from workbench.config.resolve import resolve
for text in sys.argv[2:]:
    try:
        source = resolve(text, load_weights=sys.argv[1] == "weights")
        print(source.origin, source.revision, source.weights is not None, source.model_type)
    except Exception as error:
        print(type(error).__name__, error)
"""


def client(endpoint: str, home: Path, *arguments: str) -> tuple[list[str], str]:
    """Lines and stderr of a process whose hub is ``endpoint``."""
    ours = {"HF_ENDPOINT": endpoint, "HF_HOME": str(home), "HF_HUB_OFFLINE": "0", "HF_HUB_ETAG_TIMEOUT": "5",
            "HF_HUB_DISABLE_XET": "1", "no_proxy": "127.0.0.1", "PYTHONPATH": os.pathsep.join(sys.path)}  # fmt: skip
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True, timeout=120,
        env={**os.environ, **ours},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout.strip().splitlines(), run.stderr


def test_fetching_from_a_server(hub: str, tmp_path: Path) -> None:
    """A skeleton fetches the config alone; the weights come once; code and pickles never do; stdout stays clean."""
    lines, _ = client(hub, tmp_path / "home", "skeleton", NAME)
    assert lines == [f"hub {COMMIT} False llama"]
    assert {line.split()[1] for line in Hub.asked} == {"config.json"}
    lines, stderr = client(hub, tmp_path / "home", "weights", NAME, f"{NAME}@{COMMIT}")
    assert lines == [f"hub {COMMIT} True llama"] * 2
    assert {line.split()[1] for line in Hub.asked} == {"config.json", "model.safetensors", "tokenizer.json"}
    assert "Fetching" in stderr or "model.safetensors" in stderr  # the client's own bars
    before = len(Hub.asked)
    client(hub, tmp_path / "home", "weights", NAME)
    assert len(Hub.asked) == before  # from the cache
    stored = sorted(p.name for p in (tmp_path / "home").rglob("*") if p.suffix in (".bin", ".py", ".md"))
    assert stored == []


def test_refusals_of_a_server(hub: str, tmp_path: Path) -> None:
    names = ("some-org/absent", "some-org/gated", f"{NAME}@v9")
    lines, _ = client(hub, tmp_path / "home", "skeleton", *names)
    assert lines[0].startswith("UnknownNameError The Hugging Face hub knows no model 'some-org/absent', or it is pri")
    assert lines[1].startswith("WeightsError some-org/gated is gated: ") and "hf auth login" in lines[1]
    assert lines[2].startswith(f"UnknownNameError {NAME} has no revision 'v9'")
    again, _ = client(hub, tmp_path / "home", "weights", *names)
    assert [line.split(" ", 1)[0] for line in again] == ["UnknownNameError", "WeightsError", "UnknownNameError"]


def test_repositories_without_what_is_needed(hub: str, tmp_path: Path) -> None:
    del Hub.files["model.safetensors"]
    lines, _ = client(hub, tmp_path / "home", "weights", NAME)
    assert lines[0].startswith(f"WeightsError {NAME} has no complete set of *.safetensors in ")
    del Hub.files["config.json"]
    Hub.files["x.gguf"] = b"GGUF"
    lines, _ = client(hub, tmp_path / "other", "skeleton", NAME)
    assert lines[0].startswith(f"ConfigError {NAME} holds no config.json. If it holds GGUF files, fetch the one")


def test_nobody_answers(tmp_path: Path) -> None:
    lines, _ = client("http://127.0.0.1:9", tmp_path / "home", "weights", NAME)
    assert len(lines) == 1 and lines[0].startswith(f"OfflineError {NAME} is not in the local Hugging Face cache")
    assert "the hub cannot be reached (Connect" in lines[0]
