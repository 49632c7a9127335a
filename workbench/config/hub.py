"""Models of the Hugging Face hub: what is in the local cache first, else fetched through ``huggingface_hub``.

Only files that are read are fetched: configs, tokenizer files, chat templates and safetensors; never pickles, never
code. Cache folder, endpoint, proxy and credentials are ``huggingface_hub``'s own business.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from workbench.config.files import is_no_space, reason
from workbench.config.progress import Progress
from workbench.errors import ConfigError, OfflineError, UnknownNameError, WeightsError

FILES = (
    "config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
    "added_tokens.json", "vocab.json", "merges.txt", "tokenizer.model", "chat_template.json", "chat_template.jinja",
    "*.safetensors", "*.safetensors.index.json",
)  # fmt: skip
"""What is fetched of a repository."""
LEFT_OUT = ("*/*", "consolidated*")
"""Other forms of the same weights: subfolders, and Mistral's own format beside Hugging Face's."""

_ID = re.compile(r"(?P<repo>[A-Za-z0-9][\w.-]*/[\w.-]+)(?:@(?P<revision>[\w./-]+))?")
_INDEX, _SINGLE = "model.safetensors.index.json", "model.safetensors"


@dataclasses.dataclass(frozen=True)
class HubId:
    """``org/name``, or ``org/name@revision`` with a branch, a tag or a commit."""

    repo: str
    revision: str | None = None

    def __str__(self) -> str:
        return self.repo if self.revision is None else f"{self.repo}@{self.revision}"


def hub_id(text: str) -> HubId | None:
    """The hub id that ``text`` spells, or None."""
    match = _ID.fullmatch(text)
    return HubId(match["repo"], match["revision"]) if match else None


def config_file(model: HubId, progress: Progress = None) -> Path:
    """The model's ``config.json``; nothing else is fetched.

    Raises:
        OfflineError, UnknownNameError, WeightsError, ConfigError: see :func:`snapshot`.
    """
    from huggingface_hub import hf_hub_download

    def get(local: bool) -> Path:
        return Path(hf_hub_download(model.repo, "config.json", revision=model.revision, local_files_only=local))

    return _local(get) or _fetched(model, get, progress)


def snapshot(model: HubId, progress: Progress = None) -> Path:
    """The folder of the model: the cached one if it holds all its weights, else fetched.

    Raises:
        OfflineError: it is not here, and the hub cannot be reached.
        UnknownNameError: no such repository or revision.
        WeightsError: access is restricted, or the disk is full.
        ConfigError: the repository holds no ``config.json``.
    """
    from huggingface_hub import snapshot_download

    def get(local: bool) -> Path:
        found = snapshot_download(
            model.repo, revision=model.revision, local_files_only=local, allow_patterns=list(FILES),
            ignore_patterns=list(LEFT_OUT),
        )  # fmt: skip
        return Path(found)

    cached = _local(get)
    if cached is not None and _whole(cached):
        return cached
    fetched = _fetched(model, get, progress)
    if not _whole(fetched):
        raise _incomplete(model, fetched)
    return fetched


def _local(get: Callable[[bool], Path]) -> Path | None:
    """What the cache holds, without asking anybody."""
    from huggingface_hub.errors import EntryNotFoundError, HFValidationError

    try:
        return get(True)
    except (EntryNotFoundError, HFValidationError, OSError):
        return None


def _whole(folder: Path) -> bool:
    """Whether a cached folder has a config and all its weights: a skeleton may have left the config alone."""
    if not (folder / "config.json").is_file():
        return False
    if not (folder / _INDEX).is_file():
        return (folder / _SINGLE).is_file() or len(list(folder.glob("*.safetensors"))) == 1
    try:
        shards = set(json.loads((folder / _INDEX).read_text("utf-8"))["weight_map"].values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
    return all((folder / str(shard)).is_file() for shard in shards)


def _fetched(model: HubId, get: Callable[[bool], Path], progress: Progress) -> Path:
    try:
        with _bars(progress is not False):
            return get(False)
    except Exception as error:  # the hub's client raises its own, httpx's and the system's
        raise _explained(model, error) from None


def _incomplete(model: HubId, folder: Path) -> Exception:
    """Why a fetched folder cannot be built from: the client gives what is cached where the hub is out of reach."""
    from huggingface_hub.constants import is_offline_mode

    if is_offline_mode():
        return _offline(model, "is only partly in the local Hugging Face cache", "is not asked (HF_HUB_OFFLINE is set)")
    if not (folder / "config.json").is_file():
        return _no_config(model)
    return WeightsError(
        f"{model} has no complete set of *.safetensors in {folder}: the repository may hold its weights in another "
        "form only (GGUF, or .bin, which runs code when it is read), or the hub could not be reached. Pass "
        "load_weights=False for a skeleton, or another model."
    )


@contextlib.contextmanager
def _bars(shown: bool) -> Iterator[None]:
    """The client's own progress bars (on stderr), or none."""
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    if shown or are_progress_bars_disabled():
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()


def _explained(model: HubId, error: Exception) -> Exception:
    """The client's error in one sentence of ours, with the way out."""
    from huggingface_hub import errors

    page = f"https://huggingface.co/{model.repo}"
    if isinstance(error, errors.GatedRepoError) or _status(error) == 403:
        return WeightsError(
            f"{model} is gated: the hub gives it only to accounts that accepted its terms. Accept them at {page}, log "
            "in with `hf auth login` (or set HF_TOKEN), and run again."
        )
    if isinstance(error, errors.RepositoryNotFoundError | errors.HFValidationError) or _status(error) == 401:
        return UnknownNameError(
            f"The Hugging Face hub knows no model {model.repo!r}, or it is private and this computer is not logged in "
            "(`hf auth login`); and there is no folder of that name here. Check the spelling."
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return UnknownNameError(
            f"{model.repo} has no revision {model.revision!r} on the Hugging Face hub. Leave it out for the newest, or "
            f"see {page}/commits/main."
        )
    if isinstance(error, errors.RemoteEntryNotFoundError):
        return _no_config(model)
    if isinstance(error, OSError) and is_no_space(error):
        return WeightsError(
            f"No disk space left for {model} ({reason(error)}). Free some, or set HF_HOME to a folder on another disk."
        )
    partly = isinstance(error, errors.IncompleteSnapshotError)
    what = "is only partly in the local Hugging Face cache" if partly else "is not in the local Hugging Face cache"
    return _offline(model, what, _why(error))


def _no_config(model: HubId) -> ConfigError:
    return ConfigError(
        f"{model} holds no config.json. If it holds GGUF files, fetch the one you want and pass that file."
    )


def _offline(model: HubId, what: str, why: str) -> OfflineError:
    return OfflineError(
        f"{model} {what}, there is no folder of that name here, and the hub {why}. Fetch it where there is a network "
        f"(`hf download {model.repo}`) and copy the cache folder, or pass a folder that holds config.json and "
        "*.safetensors."
    )


def _status(error: Exception) -> int | None:
    return getattr(getattr(error, "response", None), "status_code", None)


def _why(error: Exception) -> str:
    from huggingface_hub.constants import is_offline_mode

    if is_offline_mode():
        return "is not asked (HF_HUB_OFFLINE is set)"
    if (status := _status(error)) is not None:
        return f"answered with status {status}"
    return f"cannot be reached ({type(error.__cause__ or error).__name__})"
