"""From ``pr828`` to ``v1``: data in, data and remarks out. What is wrong in a document stays wrong."""

from __future__ import annotations

from typing import Any

from workbench.metadata.dialects import version
from workbench.metadata.dialects.places import (
    WORKFLOW,
    Mapping,
    Path,
    contracts,
    copied,
    entries,
    mapping_at,
    steps,
    workflow_of,
)
from workbench.metadata.dialects.remarks import Kind, Remark
from workbench.metadata.dialects.tokens import ids_of

ANY = "Any"
"""A dimension that nothing is known of."""
_RETIRED_MODEL = (
    ("io", "The ports of a graph are said in the workflow alone."),
    ("runtime_configurable.continuous_batching", "Batching is left to whoever serves the package."),
)


class Writer:
    """One document on its way; ``data`` is changed in place."""

    def __init__(self, data: Mapping, minor: int | None) -> None:
        self.data: Mapping = copied(data)
        self.remarks: list[Remark] = []
        self.minor = self._lowest() if minor is None else minor

    def say(self, kind: Kind, path: Path, message: str, value: Any = None) -> None:
        self.remarks.append(Remark(kind, path, message, value))

    def write(self) -> None:
        self._version()
        for path, contract in contracts(self.data):
            self._contract(path, contract)
        self._capabilities()
        self._model()
        self._profiles()
        self._tokens()
        if "speculative" in self.data:
            message = "Speculation was designed anew in v1.5; its identity and verification are not in this document."
            self.say("unsaid", ("speculative",), message, self.data.pop("speculative"))
        if self.minor >= version.FAMILIES:
            self._families()

    # --- version ------------------------------------------------------------------------------------------
    def _lowest(self) -> int:
        """The version that the document names, else the lowest that can say all of it."""
        stated = version.minor_of(self.data.get("schema_version"))
        return max(stated or 0, version.SPECIAL_TOKENS if self._needs_tokens() else 0)

    def _needs_tokens(self) -> bool:
        """Whether token ids can be said: from v1.2 on a loop that ends at an end of text must know one."""
        said, _ = ids_of(self.data)
        until_end = any(step.get("termination") == "generation_eos" for _, step in steps(self.data))
        return bool(said) and ("eos_token_id" in said or not until_end)

    def _version(self) -> None:
        before, after = self.data.get("schema_version"), version.spelled(self.minor)
        if before is not None and version.minor_of(before) is None:
            self.say("reworded", ("schema_version",), f"Written as {after}, a version that there is.", before)
        self.data["schema_version"] = after
        if before is None:  # the version leads
            self.data = {"schema_version": after, **self.data}

    # --- sections -----------------------------------------------------------------------------------------
    def _contract(self, path: Path, contract: Mapping) -> None:
        rank = contract.pop("rank", None)
        known = rank if isinstance(rank, int) and not isinstance(rank, bool) and 0 <= rank <= 64 else None
        shape = contract.get("shape")
        if shape is None and known is not None:
            contract["shape"] = [ANY] * known
            self.say("reworded", path, f"The rank {known} is written as a shape without known dimensions.", rank)
        elif isinstance(shape, list) and rank is not None and rank != len(shape):
            message = f"The rank {rank!r} contradicts the shape, which has {len(shape)} dimensions; the shape is taken."
            self.say("unsaid", (*path, "rank"), message, rank)
        elif rank is not None:
            self.say("derived", (*path, "rank"), "The rank is the length of the shape.", rank)
        layout = contract.get("batch_layout")
        if isinstance(layout, dict) and layout.get("kind") == "token_packed" and "levels" not in layout:
            level = {key: layout.pop(key) for key in ("offsets", "owner") if key in layout}
            layout["levels"] = [level]
            self.say("reworded", (*path, "batch_layout"), "Offsets and owner are one level of ownership.", level)

    def _capabilities(self) -> None:
        if "required_capabilities" in self.data:
            words = self.data.pop("required_capabilities")
            message = "What a reader must offer follows from the version and the structure alone."
            self.say("unsaid" if words else "derived", ("required_capabilities",), message, words)
        manifest = mapping_at(workflow_of(self.data), "manifest")
        if manifest is None or "capabilities" not in manifest:
            return
        from workbench.metadata.capabilities import BUILT_IN

        words, path = manifest.pop("capabilities"), (*WORKFLOW, "manifest", "capabilities")
        extra = [w for w in words if not isinstance(w, str) or w not in BUILT_IN] if isinstance(words, list) else []
        self.say("derived", path, "Capabilities follow from the structure.", words)
        if extra:
            self.say("unsaid", path, f"Capabilities of one's own: {', '.join(map(str, extra))}.", extra)

    def _model(self) -> None:
        for dotted, why in _RETIRED_MODEL:
            *above, last = ("model", *dotted.split("."))
            around = mapping_at(self.data, *above)
            if around is not None and last in around:
                self.say("unsaid", (*above, last), why, around.pop(last))
        if self.data.get("model") == {}:
            self.data.pop("model")

    def _profiles(self) -> None:
        for path, profile in entries(self.data, "profiles"):
            if "batch_invariance" in profile:
                value = profile.pop("batch_invariance")
                message = f"That the profile is {value} is no longer said; components declare their batch capacity."
                self.say("unsaid", (*path, "batch_invariance"), message, value)

    def _tokens(self) -> None:
        tokenizer = mapping_at(self.data, "package", "tokenizer")
        if tokenizer is None or "special_tokens" not in tokenizer:
            return
        said, left = ids_of(self.data)
        path: Path = ("package", "tokenizer", "special_tokens")
        before = tokenizer.pop("special_tokens")
        if self.minor < version.SPECIAL_TOKENS:
            self.say("unsaid", path, f"Token ids begin with v1.2; this is {version.spelled(self.minor)}.", before)
            return
        if said:
            tokenizer["special_tokens"] = said
            self.say(
                "reworded", path, f"Ids by meaning: {', '.join(said)}; their texts stand in the tokenizer.", before
            )
        for name in left:
            self.say("unsaid", (*path, name), "No special token of this meaning is known.", before[name])

    def _families(self) -> None:
        """What v1.5 and v1.7 demand of every document with a workflow."""
        workflow = workflow_of(self.data)
        if workflow is None:
            return
        occurrences = {step.get("output") for _, step in steps(self.data) if step.get("mode") == "event"}
        for path, output in entries(self.data, *map(str, WORKFLOW), "outputs"):
            if "family" not in output:
                output["family"] = {"kind": "events" if path[-1] in occurrences else "materialized"}
                self.say("added", (*path, "family"), f"From how it is emitted: {output['family']['kind']}.")
        if self.minor >= version.PUBLICATION_MODE and "publication_mode" not in workflow:
            workflow["publication_mode"] = "commit_only"
            self.say("added", (*WORKFLOW, "publication_mode"), "Nothing is published before it is final.")


def write_v1(data: Mapping, minor: int | None = None) -> Writer:
    """The document in the words of ``v1``; ``minor`` is the version, without it the lowest that can say it."""
    writer = Writer(data, minor)
    writer.write()
    return writer
