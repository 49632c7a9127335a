"""Group N: values are defined once and read where they are visible, and what they must look like there.

The walk of ``workbench.metadata.scope`` finds all of them at once; the rules hand out its findings.
"""

from __future__ import annotations

from collections.abc import Iterable

from workbench.metadata.context import Context
from workbench.metadata.document.workflow import Workflow
from workbench.metadata.registry import Finding, workflow_rule

_SENTENCES = {
    196: "Only the setup of a loop may be an empty list of steps.",
    197: "The walk meets no component that is not declared (rule 98 speaks first).",
    198: "An invocation gives values to declared input ports of its component.",
    199: "A value is read where it has been defined before and can be seen.",
    200: "A value has the dtype and the rank of the port that it goes into.",
    201: "A value and the port that it goes into have equal numbers where both fix a dimension.",
    202: "Every input port that is not optional gets a value.",
    203: "An invocation takes values from declared output ports of its component.",
    204: "A name is defined once among those that can be seen, results of loops and branches included.",
    205: "Every output port that is not optional gives a value.",
    206: "max_iterations is one whole number, of shape [] or [1].",
    207: "The number of a round is int64 of rank 0 or 1.",
    208: "The number of a round has no dimension when its rank is 0.",
    209: "The number of a round has one dimension when its rank is 1.",
    210: "The number of a round gives its shape when its rank is 1.",
    211: "What bounds a carried cell is one whole number that is defined before the loop.",
    212: "The initializer of a carried cell is defined before the loop.",
    213: "What a carried cell starts from has its dtype, its rank and its fixed dimensions; a bounded axis is free.",
    214: "continue_when is a bool that is defined before the first round, one or one per request.",
    215: "What a loop carries on is defined at the end of its body.",
    216: "What a loop carries on has the dtype, the rank and the fixed dimensions of the cell; a varying axis is free.",
    217: "A branch chooses by one bool or whole number, of shape [] or [1].",
    218: "A branch has a case.",
    219: "A case that ends a loop with a cell of the session takes that cell out of the branch.",
    220: "An output of a branch has a value for every case.",
    221: "An output of a branch has values for cases of the branch alone.",
    222: "An output of a branch has a value for the default exactly if the branch has a default.",
    223: "What a branch takes out of its cases is defined there and of one kind.",
    224: "An emitted value is defined before.",
    225: "`when` of an emit is bool, one or one per request.",
    226: "`valid_length` of an emit is a whole number, one or one per request.",
    227: "A value emitted for some requests, or up to a length for each, has an axis of requests.",
    228: "An emit goes into an output of the workflow.",
    229: "An emitted value has the dtype, the rank and the fixed dimensions of its output.",
    230: "A value emitted up to a length has an axis, and so has its output.",
    231: "A value emitted up to a length has the dtype and the rank of its output.",
    232: "A value emitted up to a length has the fixed dimensions of its output on every axis but the last.",
}


def _add(number: int, sentence: str) -> None:
    @workflow_rule(number, sentence, lowered=True)
    def _found(context: Context, workflow: Workflow) -> Iterable[Finding]:
        return context.scope.findings(number)


for _number, _sentence in _SENTENCES.items():
    _add(_number, _sentence)
