"""The names that are visible while the walk goes on: scopes are entered and left, never copied."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator

from workbench.metadata.diagnostic import Path
from workbench.metadata.document.tensor import TensorContract
from workbench.metadata.scope.records import TOP, Producer, Use, Value


@dataclasses.dataclass
class Draft:
    """A value while its readers are still being found."""

    name: str
    producer: Producer
    path: Path
    step: Path
    contract: TensorContract | None = None
    component: str | None = None
    port: str | None = None
    sources: tuple[str, ...] = ()
    tick: int = -1
    scope: Path = TOP
    seen_in: Path = TOP
    uses: list[Use] = dataclasses.field(default_factory=list)

    def done(self) -> Value:
        return Value(
            self.name, self.producer, self.path, self.step, self.scope, self.seen_in, self.contract, self.tick,
            self.component, self.port, self.sources, tuple(self.uses),
        )  # fmt: skip


class Names:
    """What is visible. A scope sees all of those around it, and a name is defined once in such a chain.

    One dictionary holds the visible names; leaving a scope takes its own out again. So a walk costs as much as the
    document is long, however many loops and cases there are.
    """

    def __init__(self) -> None:
        self.drafts: list[Draft] = []
        self._visible: dict[str, Draft] = {}
        self._scopes: list[tuple[Path, list[Draft]]] = [(TOP, [])]
        self.called: Path | None = None  # the setup that is being walked: no scope, but told apart

    @property
    def scope(self) -> Path:
        return self._scopes[-1][0]

    @property
    def own(self) -> list[Draft]:
        """What the innermost scope itself defines."""
        return self._scopes[-1][1]

    def get(self, name: str) -> Draft | None:
        return self._visible.get(name)

    def define(self, draft: Draft) -> Draft | None:
        """Make a name visible; the earlier definition, and no change, where it is visible already."""
        before = self._visible.get(draft.name)
        if before is None:
            draft.scope, draft.seen_in = self.called or self.scope, self.scope
            self._visible[draft.name] = draft
            self.own.append(draft)
            self.drafts.append(draft)
        return before

    @contextlib.contextmanager
    def inside(self, scope: Path) -> Iterator[None]:
        """A scope of its own: what it defines is gone afterwards."""
        called, self.called = self.called, None
        self._scopes.append((scope, []))
        yield
        self.called = called
        for draft in self._scopes.pop()[1]:
            del self._visible[draft.name]

    @contextlib.contextmanager
    def setup(self, path: Path) -> Iterator[None]:
        """The setup of a loop: it runs in the scope around the loop, where its values stay."""
        called, self.called = self.called, path
        yield
        self.called = called
