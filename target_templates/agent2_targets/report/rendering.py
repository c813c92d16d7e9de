"""Rendering the report from its facts, with every text escaped."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from agent2_schemas import Attempt, Design
from agent2_targets.report.charts import COLOURS, arms_chart, curves_chart, short
from agent2_targets.report.data import ReportData

_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
    lstrip_blocks=True,
)  # fmt: skip

_VERDICT_MEANS = {
    "improved": "Trained afresh on new seeds, the design beat both baselines.",
    "not shown": "Trained afresh on new seeds, the design did not clearly beat both baselines. A gain may be there; it was not shown.",
    "worse": "Trained afresh on new seeds, the design did clearly worse than a baseline.",
    "not tested": "Nothing was shown about whether the design beats the baselines, in either direction.",
}


def render_report(data: ReportData) -> str:
    """Render the report.

    Args:
        data: the facts.

    Returns:
        One HTML page that loads nothing from anywhere.
    """
    template = _ENVIRONMENT.get_template("report.html.jinja")
    candidates = list(
        dict.fromkeys([status.candidate_id for status in data.runs] + [c.candidate_id for c in data.curves])
    )
    return template.render(
        data=data,
        card=data.card,
        short=short,
        verdict_means=_VERDICT_MEANS.get(data.verdict_word, ""),
        arms_chart=arms_chart(data.verdict.arms, candidates) if data.verdict else "",
        search_chart=_chart(data, "search", candidates),
        verdict_chart=_chart(data, "verdict", candidates),
        candidates=candidates,
        colours=COLOURS,
        lineage=_lineage(data.attempts),
        hyperparameters=_hyperparameters(data.design),
        network=_plain(data.design.network.model_dump(mode="json")) if data.design else {},
        space=_space,
        duration=_duration,
    )


def _chart(data: ReportData, purpose: str, candidates: Sequence[str]) -> Any:
    chosen = [curve for curve in data.curves if curve.purpose == purpose]
    return curves_chart(chosen, candidates, f"Original return in training, {purpose} runs")


def _hyperparameters(design: Design | None) -> dict[str, str]:
    if design is None:
        return {}
    values = design.hyperparameters.model_dump(mode="json")
    values.pop("algorithm", None)
    return _plain(values)


def _plain(values: dict[str, Any]) -> dict[str, str]:
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in values.items()}


def _lineage(attempts: Sequence[Attempt]) -> list[tuple[int, Attempt]]:
    """Order attempts as a tree: each after its parent, with its depth; an attempt whose parent is unknown is a root."""
    known = {attempt.candidate_id for attempt in attempts}
    children: dict[str | None, list[Attempt]] = {}
    for attempt in attempts:
        parent = attempt.parent_id if attempt.parent_id in known and attempt.parent_id != attempt.candidate_id else None
        children.setdefault(parent, []).append(attempt)
    ordered: list[tuple[int, Attempt]] = []
    waiting = [(0, attempt) for attempt in reversed(children.get(None, []))]
    seen: set[str] = set()
    while waiting:
        depth, attempt = waiting.pop()
        if attempt.candidate_id in seen:
            continue
        seen.add(attempt.candidate_id)
        ordered.append((depth, attempt))
        waiting += [(depth + 1, child) for child in reversed(children.get(attempt.candidate_id, []))]
    return ordered + [(0, attempt) for attempt in attempts if attempt.candidate_id not in seen]


def _space(space: Any) -> str:
    """A space in one line."""
    if space.kind == "discrete":
        return f"{space.n} choices"
    if space.kind == "box":
        low, high = _bound(space.low), _bound(space.high)
        return f"box of shape {list(space.shape)}, {space.dtype}, {low} to {high}"
    if space.kind == "dict":
        return "dict of " + ", ".join(f"{name}: {_space(part)}" for name, part in space.spaces.items())
    if space.kind == "multi_discrete":
        return f"choices {list(space.nvec)}"
    return str(space.kind)


def _bound(bound: Any) -> str:
    values = cast("tuple[float | None, ...]", bound if isinstance(bound, tuple) else (bound,))
    if any(value is None for value in values):
        return "unbounded"
    return short(values[0]) if len(set(values)) == 1 else "differing per entry"


def _duration(seconds: float | None) -> str:
    """A time as a person says it."""
    if seconds is None:
        return "unknown"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
