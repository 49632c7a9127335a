"""ONNX Runtime GenAI, the client of exported folders: loading one, tokens one by one, logits and other outputs.

It runs where its wheel runs: a folder for a provider that is not here is loaded without it, on CPU kernels, and that
is said in ``notes``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.ep import ep_of_client
from workbench.errors import ExecutionError, FeedsError, ModelFileError, wrong_type
from workbench.runtime.limits import check_prompt

EXECUTOR = "onnxruntime-genai"
CONFIG = "genai_config.json"
_LARGEST = 8_000_000
_IDS = 2**31
"""The client takes ids in int32."""
_QUIET = '{"model": {"decoder": {"session_options": {"log_severity_level": 4}}}}'
Array = npt.NDArray[Any]


class GenaiClient:
    """A folder, loaded by the client.

    ``keep_providers`` asks the client for the folder's own provider even where it seems to be absent.

    Raises:
        ModelFileError: no such folder, or no readable ``genai_config.json``.
        ExecutionError: the client is not installed, or refuses the folder; the text says why.
    """

    def __init__(self, folder: str | os.PathLike[str], *, keep_providers: bool = False) -> None:
        if isinstance(folder, bytes) or not isinstance(folder, str | os.PathLike):
            raise wrong_type("folder", folder, "a path")
        self.folder = Path(os.path.abspath(Path(folder).expanduser()))
        self.words = _words(self.folder)
        self._og = _module()
        self.notes: tuple[str, ...] = ()
        config = self._call(lambda: self._og.Config(str(self.folder)))
        away = [] if keep_providers else _absent(self.words)
        if away:
            config.clear_providers()
            self.notes = (f"{', '.join(away)} is not here: providers cleared, the graph runs on CPU kernels.",)
        self._call(lambda: config.overlay(_QUIET))
        self._model = self._call(lambda: self._og.Model(config))
        self._tokenizer: Any = None

    # --- text -----------------------------------------------------------------------------------------------------
    @property
    def tokenizer(self) -> Any:
        """The client's own tokenizer.

        Raises:
            FeedsError: the folder has none, or the client cannot read it.
        """
        if self._tokenizer is None:
            try:
                self._tokenizer = self._og.Tokenizer(self._model)
            except Exception as error:  # the binding raises RuntimeError for everything
                raise FeedsError(
                    f"{self.folder} has no tokenizer that the client can read: {_first_line(error)}. Give token ids, "
                    "or export the model with its tokenizer."
                ) from None
        return self._tokenizer

    @property
    def has_template(self) -> bool:
        """Whether the tokenizer says how a conversation is written."""
        if (self.folder / "chat_template.jinja").is_file():
            return True
        try:
            words = json.loads((self.folder / "tokenizer_config.json").read_bytes())
        except (OSError, ValueError, RecursionError):
            return False
        return isinstance(words, dict) and bool(words.get("chat_template"))

    def templated(self, messages: Sequence[Mapping[str, str]]) -> str:
        """A conversation as the model wants it, up to the answer.

        Raises:
            FeedsError: the client cannot apply the template.
        """
        text, tokenizer = json.dumps([dict(message) for message in messages]), self.tokenizer
        try:
            return str(tokenizer.apply_chat_template(text, add_generation_prompt=True))
        except Exception as error:
            raise FeedsError(
                f"The client cannot apply the chat template of {self.folder}: {_first_line(error)}. Pass raw=True to "
                "give the prompt as it is."
            ) from None

    def encode(self, text: str) -> list[int]:
        """Token ids by the client's tokenizer."""
        return [int(token) for token in self.tokenizer.encode(text)]

    # --- tokens ---------------------------------------------------------------------------------------------------
    @property
    def context_length(self) -> int:
        """How many tokens prompt and answer may have together."""
        return int(self.words["model"].get("context_length") or 0)

    @property
    def ends(self) -> frozenset[int]:
        """Tokens that end an answer."""
        found = self.words["model"].get("eos_token_id")
        return frozenset(found if isinstance(found, list) else [] if found is None else [found])

    def generator(self, length: int, search: Mapping[str, Any]) -> Any:
        """The client's generator for at most ``length`` tokens, prompt included.

        Raises:
            ExecutionError: the client refuses an option.
        """

        def make() -> Any:
            parameters = self._og.GeneratorParams(self._model)
            parameters.set_search_options(**{**search, "max_length": self._room(length)})
            return self._og.Generator(self._model, parameters)

        return self._call(make)

    def _room(self, length: int) -> int:
        """A cache that keeps a window must not be shorter than the window (the client fails, 0.18)."""
        window = self.words["model"].get("decoder", {}).get("sliding_window") or {}
        size = window.get("window_size", 0) if isinstance(window, Mapping) else 0
        return min(self.context_length, max(length, size if isinstance(size, int) else 0))

    def tokens(self, prompt: Sequence[int], max_new_tokens: int, search: Mapping[str, Any]) -> Iterator[int]:
        """New tokens, one by one, up to and without an end.

        Raises:
            FeedsError: an empty prompt, or one that leaves no room.
            ExecutionError: the client fails.
        """
        ids = self._checked(prompt)
        generator = self.generator(len(ids) + max_new_tokens, search)
        self._call(lambda: generator.append_tokens(ids))
        for _ in range(min(max_new_tokens, self.context_length - len(ids))):
            self._call(generator.generate_next_token)
            token = int(generator.get_next_tokens()[0])
            if token in self.ends:
                return
            yield token

    def logits(self, prompt: Sequence[int], *, decode: Sequence[int] = (), outputs: Sequence[str] = ()) -> list[Any]:
        """Outputs of the prompt and of each token after it, in the order of ``outputs`` (empty: the logits): a list of
        dicts by name, one a call, without the batch axis.

        Raises:
            FeedsError: an empty prompt, or one that leaves no room.
            ExecutionError: the client fails, or the graph has no such output.
        """
        ids = self._checked([*prompt, *decode])
        names = list(outputs) or [self._logits_name()]
        generator = self.generator(len(ids) + 1, {"do_sample": False})
        steps = [ids[: len(prompt)], *(ids[at : at + 1] for at in range(len(prompt), len(ids)))]
        found = []
        for step in steps:
            self._call(lambda step=step: generator.append_tokens(step))
            found.append({name: self._call(lambda name=name: generator.get_output(name)[0]) for name in names})
        return found

    def _logits_name(self) -> str:
        decoder = self.words["model"].get("decoder", {})
        return str(decoder.get("outputs", {}).get("logits", "logits"))

    def _checked(self, prompt: Sequence[int]) -> Array:
        ids = np.asarray(list(prompt), np.int64)
        size = self.words["model"].get("vocab_size")
        check_prompt(ids, min(size, _IDS) if isinstance(size, int) else _IDS)
        if len(ids) >= self.context_length:
            raise FeedsError(
                f"The prompt has {len(ids)} tokens and the context is {self.context_length}, which leaves no room for "
                "an answer. Shorten it."
            )
        return ids.astype(np.int32)

    def _call(self, action: Any) -> Any:
        try:
            return action()
        except Exception as error:  # the binding raises RuntimeError and a few others
            said = f" {self.notes[0]}" if self.notes else ""
            raise ExecutionError(
                f"onnxruntime-genai cannot run {self.folder}: {_first_line(error)}.{said} Ask lint() (workbench lint) "
                "what contradicts what in the folder."
            ) from None

    def __repr__(self) -> str:
        return f"GenaiClient({self.folder.name!r}, {self.words['model'].get('type')!r})"


def client_logits(
    folder: str | os.PathLike[str], ids: Sequence[int], *, decode: Sequence[int] = (), outputs: Sequence[str] = ()
) -> Any:
    """Logits through the client: ``[S + N, V]`` float32 of a prompt and of the tokens given one by one after it.

    With ``outputs`` a dict of such arrays by name, for whatever the graph gives (``export(..., outputs=...)``).

    Raises:
        ExecutionError: the client is not installed, or fails.
        FeedsError, ModelFileError: see :class:`GenaiClient`.
    """
    steps = GenaiClient(folder).logits(ids, decode=decode, outputs=outputs)
    joined = {name: np.concatenate([step[name] for step in steps]).astype(np.float32) for name in steps[0]}
    return joined if outputs else next(iter(joined.values()))


def _words(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG
    if not path.is_file():
        what = f"it has no {CONFIG}" if folder.is_dir() else "no such folder"
        raise ModelFileError(f"{folder} is not a folder for onnxruntime-genai: {what}. export() makes one.")
    try:
        words = json.loads(path.read_bytes()) if path.stat().st_size <= _LARGEST else None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFileError(f"{path} cannot be read: {str(error)[:200]}. Export the model again.") from None
    if not isinstance(words, dict) or not isinstance(words.get("model"), dict):
        raise ModelFileError(f"{path} does not describe a model. Export the model again.")
    return words


def _module() -> Any:
    try:
        import onnxruntime_genai
    except ImportError as error:
        raise ExecutionError(
            f"onnxruntime-genai cannot be imported ({error}). Install it: pip install 'ep-workbench[genai]'."
        ) from None
    onnxruntime_genai.disable_telemetry_events()
    return onnxruntime_genai


def _absent(words: Mapping[str, Any]) -> list[str]:
    """Providers that the config names and the installed ONNX Runtime does not have."""
    import onnxruntime

    here = set(onnxruntime.get_available_providers())
    found = [(name, ep_of_client(name)) for name in _providers(words)]
    return [name for name, ep in found if ep is not None and ep.ort_provider not in here]


def _providers(words: Mapping[str, Any]) -> list[str]:
    options = words["model"].get("decoder", {})
    options = options.get("session_options", {}) if isinstance(options, Mapping) else {}
    entries = options.get("provider_options", []) if isinstance(options, Mapping) else []
    return [name for entry in entries if isinstance(entry, Mapping) for name in entry]


def _first_line(error: Exception) -> str:
    text = str(error).strip().split("\n")[0]
    return (text[:400].rstrip(".") or type(error).__name__).strip()
