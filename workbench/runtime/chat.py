"""``chat``: a prompt to a folder through its client, the answer piece by piece, with what it took."""

from __future__ import annotations

import dataclasses
import html
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from workbench.errors import FeedsError, wrong_type
from workbench.runtime.genai import EXECUTOR, GenaiClient
from workbench.runtime.memory import forget_peak, peak_bytes

if TYPE_CHECKING:
    import pandas as pd

Finish = Literal["stop", "length", "interrupted"]
"""``stop``: the model ended. ``length``: as many tokens as were asked for. ``interrupted``: by Ctrl-C."""

Prompt = str | Sequence[Mapping[str, str]]
"""A text, or a conversation of ``{"role": ..., "content": ...}``."""

COLUMNS = [
    "folder", "finish", "prompt_tokens", "new_tokens", "tokens_per_second", "first_token_seconds", "peak_bytes",
]  # fmt: skip
_NOTHING: Mapping[str, Any] = {}


@dataclasses.dataclass(frozen=True)
class ChatResult:
    """An answer and what it took.

    ``tokens_per_second`` counts the tokens after the first; ``first_token_seconds`` is the time to the first one, the
    prompt's own run included; ``peak_bytes`` is the largest resident size of the process (mapped weights included).
    """

    folder: Path
    text: str
    tokens: tuple[int, ...]
    prompt_tokens: int
    finish: Finish
    tokens_per_second: float
    first_token_seconds: float
    peak_bytes: int
    executor: str = EXECUTOR
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {**dataclasses.asdict(self), "folder": str(self.folder)}

    def to_frame(self) -> pd.DataFrame:
        """One row of numbers."""
        import pandas as pd

        row = [self.folder.name, self.finish, self.prompt_tokens, len(self.tokens)]
        return pd.DataFrame(
            [[*row, self.tokens_per_second, self.first_token_seconds, self.peak_bytes]], columns=COLUMNS
        )

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return (
            f"ChatResult({self.text[:40]!r}{'...' if len(self.text) > 40 else ''}, {len(self.tokens)} tokens, "
            f"{self.finish})"
        )

    def _repr_html_(self) -> str:
        took = (
            f"{len(self.tokens)} tokens, {self.tokens_per_second:.1f} a second, first after "
            f"{self.first_token_seconds:.2f} s, {self.peak_bytes / 1e6:,.0f} MB at most; {self.finish}"
        )
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        return (
            f"<div><p style='white-space: pre-wrap'>{html.escape(self.text)}</p><p><small>{html.escape(took)}</small>"
            f"</p>{f'<ul>{notes}</ul>' if notes else ''}</div>"
        )


class ChatStream(Iterator[str]):
    """Pieces of an answer as they come; ``result`` is the whole (what is left is fetched first).

    Ctrl-C while a piece is made ends the answer there: what came so far is the result. Who is interrupted between two
    pieces calls ``interrupt``.
    """

    def __init__(self, client: GenaiClient, ids: Sequence[int], limit: int, search: Mapping[str, Any]) -> None:
        self._client, self._prompt, self._limit = client, len(ids), limit
        self._tokens: list[int] = []
        self._pieces: list[str] = []
        self._finish: Finish | None = None
        self._decoder = client.tokenizer.create_stream()
        self._start = self._first = self._last = time.perf_counter()
        self._new = client.tokens(ids, limit, search)

    def __next__(self) -> str:
        if self._finish is not None:
            raise StopIteration
        try:
            return self._take(next(self._new))
        except StopIteration:
            self._end("length" if len(self._tokens) >= self._limit else "stop")
            raise
        except KeyboardInterrupt:
            self.interrupt()
            raise StopIteration from None

    def interrupt(self) -> None:
        """End the answer here, unless it has ended."""
        if self._finish is None:
            self._end("interrupted")

    def _take(self, token: int) -> str:
        self._last = time.perf_counter()
        if not self._tokens:
            self._first = self._last
        piece = str(self._decoder.decode(token))
        self._tokens.append(token)
        self._pieces.append(piece)
        return piece

    def _end(self, finish: Finish) -> None:
        self._finish = finish
        self._new.close()  # type: ignore[attr-defined]

    @property
    def result(self) -> ChatResult:
        """The answer as a whole."""
        for _ in self:
            pass
        count, seconds = len(self._tokens), self._last - self._first
        return ChatResult(
            folder=self._client.folder,
            text="".join(self._pieces),
            tokens=tuple(self._tokens),
            prompt_tokens=self._prompt,
            finish=self._finish or "stop",
            tokens_per_second=(count - 1) / seconds if count > 1 and seconds > 0 else 0.0,
            first_token_seconds=self._first - self._start,
            peak_bytes=peak_bytes(),
            notes=self._client.notes,
        )

    def __repr__(self) -> str:
        return f"ChatStream({len(self._tokens)} tokens so far, {self._finish or 'not ended'})"


@overload
def chat(
    folder: str | os.PathLike[str] | GenaiClient, prompt: Prompt, *, max_new_tokens: int = ..., raw: bool = ...,
    search: Mapping[str, Any] = ..., stream: Literal[False] = ...,
) -> ChatResult: ...  # fmt: skip
@overload
def chat(
    folder: str | os.PathLike[str] | GenaiClient, prompt: Prompt, *, max_new_tokens: int = ..., raw: bool = ...,
    search: Mapping[str, Any] = ..., stream: Literal[True],
) -> ChatStream: ...  # fmt: skip
def chat(
    folder: str | os.PathLike[str] | GenaiClient,
    prompt: Prompt,
    *,
    max_new_tokens: int = 128,
    raw: bool = False,
    search: Mapping[str, Any] = _NOTHING,
    stream: bool = False,
) -> ChatResult | ChatStream:
    """Ask a folder through its client, onnxruntime-genai (extra ``genai``).

    Args:
        folder: what ``export`` wrote, or a ``GenaiClient`` that has it loaded already.
        prompt: a text, or a conversation of ``{"role": ..., "content": ...}``.
        max_new_tokens: at most so many.
        raw: give the prompt as it is; otherwise the tokenizer's chat template is applied, if it has one.
        search: the client's search options over those of the folder (``{"do_sample": False}``, say).
        stream: give the pieces as they come (an iterator whose ``result`` is the whole) instead of the result.

    Raises:
        ExecutionError: the client is not installed, or refuses the folder.
        FeedsError: an empty prompt, one that does not fit, or no tokenizer.
        ModelFileError: no such folder, or no folder for this client.
        ArgumentError: an argument has a type that is not taken.
    """
    if isinstance(max_new_tokens, bool) or not isinstance(max_new_tokens, int):
        raise wrong_type("max_new_tokens", max_new_tokens, "a whole number")
    if max_new_tokens < 1:
        raise FeedsError(f"max_new_tokens is {max_new_tokens}; it must be at least 1.")
    messages = _messages(prompt)
    forget_peak()
    client = folder if isinstance(folder, GenaiClient) else GenaiClient(folder)
    plain = raw or not client.has_template
    text = "".join(message["content"] for message in messages) if plain else client.templated(messages)
    pieces = ChatStream(client, client.encode(text), max_new_tokens, search)
    return pieces if stream else pieces.result


def _messages(prompt: Any) -> list[dict[str, str]]:
    if isinstance(prompt, str):
        return [{"role": "user", "content": prompt}]
    if isinstance(prompt, bytes) or not isinstance(prompt, Sequence):
        raise wrong_type("prompt", prompt, "a text or a list of messages")
    for message in prompt:
        texts = isinstance(message, Mapping) and all(isinstance(message.get(key), str) for key in ("role", "content"))
        if not texts:
            raise wrong_type("each message", message, "a mapping with the texts role and content")
    return [dict(message) for message in prompt]
