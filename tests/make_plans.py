"""Write the table of derived plans: ``tests/golden/plans.json`` and its copy in ``docs/execution-providers.md``.

Run ``python -m tests.make_plans`` after a change of facts or rules, and read the difference: each line of it is a
change to the graphs of an execution provider.
"""

from __future__ import annotations

import json
from pathlib import Path

from workbench.ep import execution_providers, get_ep
from workbench.errors import UnsupportedError
from workbench.rules import RULES
from workbench.rules.plan import plan
from workbench.types import FLOAT_DTYPES, Role

ROOT = Path(__file__).resolve().parent.parent
GOLDEN, PAGE = ROOT / "tests/golden/plans.json", ROOT / "docs/execution-providers.md"
BEGIN, END = "<!-- plans: begin -->\n", "<!-- plans: end -->\n"
ROLES = (Role.DECODER, Role.ENCODER)
REFUSED = "refused"
Plans = dict[str, dict[str, dict[str, list[str] | str]]]


def derived(ep: str, dtype: str, role: str) -> list[str] | str:
    """The rules of a plan in order, with what they do without; ``refused`` where the provider cannot compute."""
    try:
        made = plan(get_ep(ep), FLOAT_DTYPES[dtype], Role(role), RULES)
    except UnsupportedError:
        return REFUSED
    return [str(step) for step in made.steps]


def all_plans() -> Plans:
    """Every provider, dtype and role."""
    return {
        ep: {dtype: {str(role): derived(ep, dtype, role) for role in ROLES} for dtype in FLOAT_DTYPES}
        for ep in execution_providers()
    }


def table(plans: Plans) -> str:
    """One Markdown table a role; dtypes with one plan share a row."""
    parts = []
    for role in ROLES:
        parts += [f"### {str(role).capitalize()}\n\n", "| provider | dtype | plan |\n|---|---|---|\n"]
        parts += [f"| `{ep}` | {words} | {steps} |\n" for ep in plans for words, steps in _rows(plans[ep], str(role))]
        parts.append("\n")
    return "".join(parts)


def _rows(dtypes: dict[str, dict[str, list[str] | str]], role: str) -> list[tuple[str, str]]:
    rows: dict[str, list[str]] = {}
    for dtype, roles in dtypes.items():
        found = roles[role]
        steps = found if isinstance(found, str) else " → ".join(f"`{step}`" for step in found) or "nothing"
        rows.setdefault(steps, []).append(dtype)
    return [(", ".join(words), steps) for steps, words in rows.items()]


def in_page(text: str) -> str:
    """The table that a page holds between its marks."""
    return text.split(BEGIN)[1].split(END)[0]


def main() -> None:
    plans = all_plans()
    GOLDEN.write_text(json.dumps(plans, indent=1) + "\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}{table(plans)}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
