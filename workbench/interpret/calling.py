"""One call of a component: what its ports are fed, who computes it, and whether what comes out is what was promised."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from workbench.errors import FeedsError, root_cause
from workbench.interpret.arrays import Array, is_floating, numpy_dtype
from workbench.interpret.caching import Caches, length
from workbench.interpret.contracts import Symbols, check
from workbench.interpret.decoding import DECODE, Decoding, positions
from workbench.interpret.diagnostic import Violation
from workbench.interpret.graphs import Graphs
from workbench.interpret.policy import TOKEN_POLICY, Policy
from workbench.interpret.roles import SUPPLIED, Facts, port_of, role_of
from workbench.interpret.scoped import Held, Scope
from workbench.metadata.document.ports import AdapterImplementation, Component, OnnxImplementation
from workbench.metadata.document.steps import InvokeStep
from workbench.metadata.document.tensor import TensorContract
from workbench.metadata.wording import few, q
from workbench.runtime.padding import check_padding

Executor = Callable[[Mapping[str, Array]], Mapping[str, Any]]
"""A component in Python: arrays by input port in, arrays by output port out."""


@dataclasses.dataclass(frozen=True, eq=False)
class Fed:
    """What a port got: its value's name (empty where the runtime supplies it), the array, and a word on it."""

    value: str
    array: Array
    note: str = ""


@dataclasses.dataclass(eq=False)
class Call:
    """One call on its way."""

    name: str
    component: Component
    step: InvokeStep
    scope: Scope
    fed: dict[str, Fed] = dataclasses.field(default_factory=dict)
    given: dict[str, Array] = dataclasses.field(default_factory=dict)
    warnings: list[Violation] = dataclasses.field(default_factory=list)

    @property
    def artifact(self) -> str | None:
        found = self.component.implementation
        return found.artifact if isinstance(found, OnnxImplementation) else None


class Caller:
    """Calls components in the course of one run."""

    def __init__(
        self,
        facts: Facts,
        graphs: Graphs,
        policy: Policy,
        executors: Mapping[str, Executor],
        given: frozenset[str],
        requests: int,
    ) -> None:
        self.facts, self.graphs, self.policy, self.executors = facts, graphs, policy, executors
        self.given, self.requests = given, requests
        self.decoders: dict[str, Decoding] = {}

    def call(self, call: Call) -> dict[str, Held]:
        """The values that a step makes. What was fed and given stays in ``call``, also where it fails.

        Raises:
            Violation: the component cannot be run, failed, or broke its contract.
        """
        self._feed(call)
        symbols: Symbols = {}
        contracts, state = self._input_contracts(call), self.facts.state_ports(call.name)
        for port, fed in call.fed.items():
            own = None if port in state else symbols
            check(fed.array, contracts.get(port), f"{call.name}.{port}", fed.value, own, (), self.requests)
        arrays, caches = {port: fed.array for port, fed in call.fed.items()}, Caches(self.facts, call.name)
        caches.check_places(arrays)
        call.given = self._compute(call, arrays)
        made = self._promised(call, symbols if call.artifact is not None else {})
        caches.check_growth(arrays, call.given, self._slots(call))
        tokens, places = caches.tokens(arrays), caches.places(arrays)
        return {name: dataclasses.replace(held, tokens=tokens, places=places) for name, held in made.items()}

    def _slots(self, call: Call) -> int | None:
        """How many slots of its cache a call has filled when it is done, where its mask says so."""
        port = port_of(call.component, "attention_mask")
        return call.fed[port].array.shape[-1] if port in call.fed and call.fed[port].array.ndim == 2 else None

    # --- what goes in ---------------------------------------------------------------------------------------
    def _feed(self, call: Call) -> None:
        ports, roles = call.step.inputs, call.component.ports.roles
        supplied = {p for p, value in ports.items() if roles.get(p) in SUPPLIED and value in self.facts.supplied}
        for port, value in ports.items():
            if port not in supplied:
                held = call.scope.read(value)
                call.fed[port] = Fed(value, held.array)
        unbound = [p for p, role in roles.items() if role in SUPPLIED and p not in ports and self._takes(call, p)]
        if supplied or unbound or self._decodes(call):
            self._supply(call, [*(p for p in ports if p in supplied), *unbound])
        call.fed = {port: call.fed[port] for port in [*ports, *(p for p in call.fed if p not in ports)]}

    def _takes(self, call: Call, port: str) -> bool:
        if call.component.infers_ports and call.artifact is not None:
            return port in self.graphs.names(call.artifact)[0]
        return port in call.component.ports.inputs

    def _decodes(self, call: Call) -> bool:
        contract = call.component.contract
        return contract is not None and contract.id == DECODE

    def _supply(self, call: Call, ports: list[str]) -> None:
        """Tokens of this round, mask, positions and places to write at."""
        decoding = self.decoders.setdefault(call.name, Decoding()) if self._stateful(call) else Decoding()
        if self._starts_anew(call):
            decoding.step = None
        first = decoding.step is None
        tokens = self._tokens(call, first)
        if tokens is None:
            raise Violation(
                "run.component",
                f"{q(call.name)} has no port fed with tokens or embeddings, so its "
                f"{' and '.join(ports) or 'tokens'} cannot be made.",
                "Give them as inputs, or name the role of the token port.",
            )
        mask = self._given_for(call, "attention_mask") if first else None
        rows, width = tokens.shape[:2]
        if mask is not None and mask.shape != (rows, width):
            raise Violation(
                "run.input",
                f"The attention mask is {list(mask.shape)}, the tokens are {[rows, width]}.",
                "Give a mask over the tokens.",
            )
        if mask is not None:
            self._check_padding(call, mask)
        step = decoding.begin(rows, width, tokens if tokens.ndim == 2 else None, mask)
        for port in ports:
            self._put(call, port, self._made(call, port, step, first))
        self._places(call, decoding)

    def _check_padding(self, call: Call, mask: Array) -> None:
        if call.artifact is None or self._executor(call) is not None or not self.graphs.pads_right(call.artifact):
            return
        try:
            check_padding(mask, "right", past=0)
        except FeedsError as found:
            raise Violation("run.input", str(found)) from None

    def _starts_anew(self, call: Call) -> bool:
        """Whether a cache that grows is fed empty: what this decoder has read before belongs to another text."""
        lengths = [
            length(call.fed[alias.input].array, group.sequence_axis)
            for group in self.facts.groups.values() if group.sequence_axis is not None
            for alias in group.ports.get(call.name, {}).values()
            if alias.access == "read_write" and alias.input in call.fed
        ]  # fmt: skip
        return bool(lengths) and all(one == 0 for one in lengths)

    def _stateful(self, call: Call) -> bool:
        return self._decodes(call) or self.facts.keeps_state(call.name)

    def _tokens(self, call: Call, first: bool) -> Array | None:
        """``[B, S]`` or ``[B, S, W]``: what the token port gets; after the first round the policy's tokens, where the
        document goes on naming the prompt."""
        port = port_of(call.component, "token_ids")
        if port is None or port not in call.fed:
            port = port_of(call.component, "inputs_embeds")
            return call.fed[port].array if port in call.fed else None
        fed, chosen = call.fed[port], self.policy.chosen
        entry = self.facts.workflow.inputs.get(fed.value)
        again = entry is not None and role_of(entry) == "prompt_tokens" and self._decodes(call)
        if again and not first and chosen is not None:
            tokens = chosen[:, None].astype(fed.array.dtype)
            call.fed[port] = Fed(fed.value, tokens, "the tokens of the round before")
        return call.fed[port].array

    def _given_for(self, call: Call, role: str) -> Array | None:
        """What the caller gave for the port of a role."""
        port = port_of(call.component, role)
        value = call.step.inputs.get(port) if port is not None else None
        held = call.scope.find(value) if value in self.given else None
        return held.array if held is not None else None

    def _made(self, call: Call, port: str, step: Any, first: bool) -> tuple[Array, str]:
        role = call.component.ports.roles[port]
        if role == "attention_mask":
            return step.attention_mask, "over all tokens so far"
        own = self._given_for(call, "position_ids") if first else None
        if own is not None:
            return own, "given"
        contract = self._input_contracts(call).get(port)
        return positions(step, contract.rank if contract is not None else 2), "counted from the tokens"

    def _put(self, call: Call, port: str, made: tuple[Array, str]) -> None:
        contract, value = self._input_contracts(call).get(port), call.step.inputs.get(port, "")
        array = made[0].astype(numpy_dtype(contract.dtype)) if contract is not None else made[0]
        call.fed[port] = Fed(value, array, f"supplied by the runtime: {made[1]}")
        if value and call.scope.find(value) is None:  # what else reads it gets the same
            call.scope.define(value, Held(array, contract))

    def _places(self, call: Call, decoding: Decoding) -> None:
        """Where a decoder writes into buffers of fixed size, where no step says so."""
        for update in self.facts.scatters(call.name) if self._decodes(call) else ():
            for ports, array, note in (
                (update.write_indices_ports, decoding.slots_before, "the slots filled before"),
                (update.kv_length_ports, decoding.slots_after, "the slots filled after"),
            ):
                port = ports.get(call.name)
                if port is not None and port not in call.fed:
                    self._put(call, port, (array, note))

    def _input_contracts(self, call: Call) -> Mapping[str, TensorContract]:
        if call.component.infers_ports and call.artifact is not None:
            return self.graphs.inputs(call.artifact)
        return call.component.ports.inputs

    # --- who computes it --------------------------------------------------------------------------------------
    def _compute(self, call: Call, feeds: dict[str, Array]) -> dict[str, Array]:
        executor = self._executor(call)
        if executor is not None:
            return _in_python(call, executor, feeds)
        if call.artifact is not None:
            return self._graph(call, call.artifact, feeds)
        contract = call.component.contract
        if contract is not None and contract.id == TOKEN_POLICY:
            return self.policy.call(call.name, call.component, call.step, feeds, self._decoder_before(call))
        raise Violation("run.component", f"{_cannot(call)} cannot be run here.", _register(call))

    def _graph(self, call: Call, artifact: str, feeds: dict[str, Array]) -> dict[str, Array]:
        """A graph's outputs that the step reads; those it does not have are missed later, by name."""
        found = set(self.graphs.names(artifact)[1])
        return self.graphs.run(artifact, feeds, [port for port in call.step.outputs if port in found])

    def _executor(self, call: Call) -> Executor | None:
        contract, kind = call.component.contract, call.component.implementation
        words = [call.name]
        if contract is not None:
            words += [f"{contract.id}@{contract.version}", contract.id]
        if isinstance(kind, AdapterImplementation):
            words += [f"{kind.abi}@{kind.version}", kind.abi]
        return next((self.executors[word] for word in words if word in self.executors), None)

    def _decoder_before(self, call: Call) -> Decoding | None:
        """The decoder whose logits a policy reads; it need not be the component that made them last."""
        for value in call.step.inputs.values():
            held = call.scope.find(value)
            if held is not None and held.component in self.decoders:
                return self.decoders[held.component]
        return next(iter(self.decoders.values())) if len(self.decoders) == 1 else None

    # --- what comes out -----------------------------------------------------------------------------------------
    def _promised(self, call: Call, symbols: Symbols) -> dict[str, Held]:
        missing = [port for port in call.step.outputs if port not in call.given]
        if missing:
            raise Violation(
                "run.missing-output",
                f"{q(call.name)} did not give {few([q(port) for port in missing])}; it gave {few(list(call.given))}.",
                "Correct the port's name, or the component.",
                call.step.outputs[missing[0]],
            )
        made: dict[str, Held] = {}
        state = self.facts.state_ports(call.name)
        for port, value in call.step.outputs.items():
            array, contract = call.given[port], call.component.ports.outputs.get(port)
            own = None if port in state else symbols
            check(array, contract, f"{call.name}.{port}", value, own, (), self.requests)
            self._finite(call, port, value, array)
            made[value] = Held(array, contract, call.name, port)
        return made

    def _finite(self, call: Call, port: str, value: str, array: Array) -> None:
        """NaN, and +Inf, are worth a word; -Inf is how graphs write what must not be."""
        if not is_floating(array):
            return
        odd = int(np.isnan(array).sum()), int(np.isposinf(array).sum())
        if any(odd):
            call.warnings.append(
                Violation(
                    "run.non-finite",
                    f"{call.name}.{port} has {odd[0]} NaN and {odd[1]} Inf among {array.size} elements.",
                    "NaN is never chosen as a token. Look at the graph, or run it in float32.",
                    value,
                )
            )


def _in_python(call: Call, executor: Executor, feeds: dict[str, Array]) -> dict[str, Array]:
    try:
        given = executor({port: _read_only(array) for port, array in feeds.items()})
        return {port: np.array(value) for port, value in given.items()}
    except Exception as error:  # the caller's own code raises what it likes
        raise Violation(
            "run.component",
            f"The executor of {q(call.name)} raised {type(error).__name__}: {root_cause(error)}",
            "Correct the function that was given in executors.",
        ) from None


def _read_only(array: Array) -> Array:
    """What a function gets: its writing into an argument must not change a value that others read."""
    shown = array.view()
    shown.flags.writeable = False
    return shown


def _cannot(call: Call) -> str:
    kind, contract = call.component.implementation, call.component.contract
    if isinstance(kind, AdapterImplementation):
        return f"The adapter {q(call.name)} (abi {kind.abi}@{kind.version})"
    said = f"contract {contract.id}@{contract.version}" if contract is not None else "no contract"
    return f"The binding {q(call.name)} ({said})"


def _register(call: Call) -> str:
    kind, contract = call.component.implementation, call.component.contract
    word = kind.abi if isinstance(kind, AdapterImplementation) else contract.id if contract is not None else call.name
    return f"Give a function that maps its input arrays to its outputs: executors={{{word!r}: function}}."
