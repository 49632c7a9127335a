"""Group D: profiles, and how the scores of a transcription become text."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.metadata.context import Context
from workbench.metadata.diagnostic import Path
from workbench.metadata.document.profiles import Decoding, Profile, Vocabulary
from workbench.metadata.registry import Finding, rule
from workbench.metadata.wording import q

KNOWN = ("generation", "embedding", "reranking", "classification", "reward", "transcription")


def _profiles(context: Context) -> Iterator[tuple[Path, str, Profile]]:
    """The profiles of a known kind: those that are read at all."""
    for name, profile in context.document.profiles.items():
        if profile.kind in KNOWN:
            yield ("profiles", name), name, profile


def _decodings(context: Context) -> Iterator[tuple[Path, str, Decoding]]:
    for path, name, profile in _profiles(context):
        if profile.decoding:
            yield (*path, "decoding"), name, profile.decoding


def _vocabularies(context: Context) -> Iterator[tuple[Path, str, Vocabulary]]:
    for path, name, decoding in _decodings(context):
        if decoding.vocabulary:
            yield (*path, "vocabulary"), name, decoding.vocabulary


@rule(22, "semantic", "A profile of an unknown kind is ignorable.")
def _kind(context: Context) -> Iterator[Finding]:
    for name, profile in context.document.profiles.items():
        if profile.kind not in KNOWN and profile.requirement == "required":
            message = f"The profile {q(name)} is required and of the unknown kind {q(profile.kind)}."
            hint = f"Known kinds: {', '.join(KNOWN)}. Or write `requirement: ignorable`."
            yield Finding(("profiles", name, "kind"), message, hint)


@rule(23, "semantic", "The outputs of a profile are outputs of the workflow.")
def _outputs(context: Context) -> Iterator[Finding]:
    for path, name, profile in _profiles(context):
        for role, output in profile.outputs.items() if context.workflow else ():
            if context.workflow and output not in context.workflow.outputs:
                message = (
                    f"The profile {q(name)} takes {q(role)} from the output {q(output)}, which the workflow lacks."
                )
                yield Finding((*path, "outputs", role), message, "Name an output of pipeline.workflow.outputs.")


@rule(24, "semantic", "A profile with outputs stands beside a workflow.")
def _no_workflow(context: Context) -> Iterator[Finding]:
    for path, name, profile in _profiles(context):
        if context.workflow is None and profile.outputs:
            message = f"The profile {q(name)} names outputs of a workflow, and there is no workflow."
            yield Finding((*path, "outputs"), message, "Add pipeline.workflow, or remove the outputs.")


@rule(25, "semantic", "A transcription says how its scores are decoded.")
def _transcription(context: Context) -> Iterator[Finding]:
    for path, name, profile in _profiles(context):
        if profile.kind == "transcription" and profile.decoding is None:
            message = f"The profile {q(name)} is a transcription without decoding."
            yield Finding(path, message, "Add decoding: kind, time_axis, class_axis.")


# Without decoding, a transcription breaks rule 25 for the same reason.
@rule(26, "semantic", "A profile that depends on padding says where the lengths are.", unless=(25,))
def _padding(context: Context) -> Iterator[Finding]:
    for path, name, profile in _profiles(context):
        if profile.batch_invariance != "padding_sensitive" or (profile.decoding and profile.decoding.lengths):
            continue
        message = f"The profile {q(name)} is padding_sensitive, but its decoding names no lengths."
        yield Finding((*path, "batch_invariance"), message, "Set decoding.lengths to a role of the profile's outputs.")


@rule(27, "semantic", "CTC decoding has a blank_id.")
def _blank(context: Context) -> Iterator[Finding]:
    for path, name, decoding in _decodings(context):
        if decoding.kind == "ctc" and decoding.blank_id is None:
            message = f"The profile {q(name)} decodes by CTC without a blank_id."
            yield Finding(path, message, "Add blank_id, the class that stands for nothing.")


@rule(28, "semantic", "Time and classes lie on different axes.")
def _axes(context: Context) -> Iterator[Finding]:
    for path, name, decoding in _decodings(context):
        if decoding.time_axis == decoding.class_axis:
            message = f"The profile {q(name)} has time and classes both on axis {decoding.time_axis}."
            yield Finding((*path, "class_axis"), message, "Correct one of time_axis and class_axis.")


@rule(29, "semantic", "decoding.lengths is a role that the profile maps to an output.")
def _lengths(context: Context) -> Iterator[Finding]:
    for path, name, profile in _profiles(context):
        lengths = profile.decoding.lengths if profile.decoding else None
        if lengths is not None and lengths not in profile.outputs:
            message = f"The profile {q(name)} takes lengths from the role {q(lengths)}, which its outputs do not map."
            yield Finding((*path, "decoding", "lengths"), message, "Map the role in the profile's outputs.")


@rule(30, "semantic", "An inline vocabulary has tokens.")
def _no_tokens(context: Context) -> Iterator[Finding]:
    for path, name, vocabulary in _vocabularies(context):
        if vocabulary.source == "inline" and not vocabulary.tokens:
            message = f"The vocabulary of {q(name)} is inline and has no tokens."
            yield Finding(path, message, "List the tokens, or write `source: tokenizer`.")


@rule(31, "semantic", "The size of a vocabulary is the number of its tokens.")
def _size(context: Context) -> Iterator[Finding]:
    for path, name, vocabulary in _vocabularies(context):
        count = len(vocabulary.tokens)
        if count and vocabulary.size is not None and vocabulary.size != count:
            message = f"The vocabulary of {q(name)} has the size {vocabulary.size}, but {count} tokens."
            yield Finding((*path, "size"), message, f"Write {count}, or correct the list.")


@rule(32, "semantic", "The word delimiter is one of the tokens.")
def _delimiter(context: Context) -> Iterator[Finding]:
    for path, name, vocabulary in _vocabularies(context):
        word = vocabulary.word_delimiter
        if word is not None and vocabulary.tokens and word not in vocabulary.tokens:
            message = f"The vocabulary of {q(name)} parts words by {q(word)}, which is none of its tokens."
            yield Finding((*path, "word_delimiter"), message, "Name a token.")


@rule(33, "semantic", "Every ignored token is one of the tokens.")
def _ignored(context: Context) -> Iterator[Finding]:
    for path, name, vocabulary in _vocabularies(context):
        tokens = frozenset(vocabulary.tokens)
        for index, word in enumerate(vocabulary.ignored_tokens if tokens else ()):
            if word not in tokens:
                message = f"The vocabulary of {q(name)} ignores {q(word)}, which is none of its tokens."
                yield Finding((*path, "ignored_tokens", index), message, "Name a token, or drop the entry.")


@rule(34, "semantic", "blank_id is the index of an inline token.")
def _blank_range(context: Context) -> Iterator[Finding]:
    for path, name, decoding in _decodings(context):
        count = len(decoding.vocabulary.tokens) if decoding.vocabulary else 0
        if count and decoding.blank_id is not None and decoding.blank_id >= count:
            message = f"The profile {q(name)} has the blank_id {decoding.blank_id}, but only {count} tokens."
            yield Finding((*path, "blank_id"), message, f"Write an index below {count}.")
