"""Level 3 for `reward`: named finite components, their scale, and how they stand to the original reward."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent2_mdp.child.check_progress import check_progress
from agent2_mdp.child.outputs import components
from agent2_mdp.child.rehearsal import Outputs, try_part, try_probes
from agent2_mdp.child.reward_inputs import reward_arguments
from agent2_mdp.child.statistics import is_flat, number, short, spearman, summary
from agent2_mdp.child.subject import Probes, Subject, recorded_probes, rehearsal_of
from agent2_targets.runtime.spaces import take

Values = NDArray[np.float64]
DOMINATING_SHARE = 0.8
ANTI_CORRELATED_ERROR = -0.5
ANTI_CORRELATED_WARNING = -0.2
OUTLIER = 1e4


def check_reward(subject: Subject) -> tuple[Outputs | None, list[dict[str, Any]]]:
    """Try `reward` on the recording.

    Returns:
        Weighted components of all rows (None where they cannot be told), and their statistics in the form of
        `agent2_schemas.RewardComponent`.
    """
    notes, loaded, convert = subject.notes, subject.loaded, components(subject.loaded)
    outputs = try_part(
        loaded, subject.rehearsal("reward", lambda rows: reward_arguments(subject, rows), convert), notes
    )
    probes = recorded_probes(subject)
    if outputs is not None and probes is not None:
        for is_next in (True, False):
            arguments = _probe_arguments(subject, probes, is_next=is_next)
            try_probes(loaded, rehearsal_of("reward", probes, arguments, convert), notes, is_reachable=True)
    if outputs is None:
        return None, []
    _check_weights(subject, set(outputs))
    weighted = {name: values * loaded.weights.get(name, 1.0) for name, values in outputs.items()}
    rows = _statistics(subject, weighted)
    _check_components(subject, weighted, rows)
    check_progress(subject, outputs)
    return weighted, rows


def _probe_arguments(subject: Subject, probes: Probes, *, is_next: bool) -> Any:
    first, second = (probes.origin, probes.edge) if is_next else (probes.edge, probes.origin)
    recorded_rows = np.linspace(0, len(subject.recording) - 1, len(probes)).astype(int)

    def arguments(rows: Any) -> tuple[Any, ...]:
        recorded = reward_arguments(subject, recorded_rows[rows])
        return (take(first, rows), recorded[1], take(second, rows), *recorded[3:])

    return arguments


def _check_weights(subject: Subject, names: set[str]) -> None:
    loaded = subject.loaded
    if not loaded.has_weights:
        return
    lines = loaded.at("REWARD_WEIGHTS")
    for name in sorted(set(loaded.weights) - names):
        message = f"REWARD_WEIGHTS has {name!r}, but reward returns no such component: {', '.join(sorted(names))}."
        subject.notes.error("weight-unknown", message, "Make the names agree.", line=lines.of_key(name))
    for name in sorted(names - set(loaded.weights)):
        message = f"REWARD_WEIGHTS has no weight for component {name!r}; it would weigh 1."
        subject.notes.warning("weight-missing", message, "Add it.", line=loaded.at("reward").of_key(name))


def _statistics(subject: Subject, weighted: Outputs) -> list[dict[str, Any]]:
    original = subject.recording.original_reward
    sizes = {name: float(np.abs(values).sum()) for name, values in weighted.items()}
    total = sum(sizes.values())
    return [
        {
            "name": name,
            "weight": subject.loaded.weights.get(name, 1.0),
            **{key: number(value) for key, value in summary(values).items()},
            "share": sizes[name] / total if total else None,
            "correlation_with_original": spearman(values, original),
        }
        for name, values in weighted.items()
    ]


def _check_components(subject: Subject, weighted: Outputs, rows: list[dict[str, Any]]) -> None:
    notes, lines = subject.notes, subject.loaded.at("reward")
    is_original_flat = is_flat(subject.recording.original_reward)
    for row in rows:
        name, values = row["name"], weighted[row["name"]]
        line, seen = lines.of_key(name), f"mean {short(row['mean'])}, std {short(row['std'])}"
        follows = bool(np.allclose(values, values[:1])) is False and (row["correlation_with_original"] or 0.0) > 0.9
        if is_flat(values):
            is_the_original = is_original_flat and np.array_equal(
                values, subject.recording.original_reward * row["weight"]
            )
            add = notes.note if is_the_original else notes.warning
            code = "component-constant" if np.any(values) else "component-dead"
            message = f"reward component {name!r} is {short(row['mean'])} on every recorded row."
            add(code, message, "Rewrite or drop it; a constant teaches nothing but to last or to end.", line=line)
        elif len(rows) > 1 and (row["share"] or 0.0) > DOMINATING_SHARE and not follows:
            message = f"reward component {name!r} makes up {row['share']:.0%} of the reward."
            advice = "Bring the weighted components to comparable standard deviations."
            notes.warning("component-dominates", message, advice, evidence=seen, line=line)
        if row["max"] is not None and max(abs(row["max"]), abs(row["min"])) > max(OUTLIER, 100 * (row["std"] or 0.0)):
            message = f"reward component {name!r} reaches {short(row['min'])} to {short(row['max'])}."
            notes.warning(
                "component-unbounded", message, "Bound it, e.g. with np.clip or np.tanh.", evidence=seen, line=line
            )
    _check_sign(subject, np.sum(list(weighted.values()), axis=0), rows)


def _check_sign(subject: Subject, total: Values, rows: list[dict[str, Any]]) -> None:
    correlation = spearman(total, subject.recording.original_reward)
    if correlation is None or correlation > ANTI_CORRELATED_WARNING:
        return
    lines = subject.loaded.at("reward")
    scored = [row for row in rows if row["correlation_with_original"] is not None]
    worst = min(scored, key=lambda row: row["correlation_with_original"] * (row["share"] or 0.0), default=None)
    add = subject.notes.error if correlation <= ANTI_CORRELATED_ERROR else subject.notes.warning
    add(
        "reward-anti-correlated",
        f"The shaped reward falls where the original reward rises: Spearman {correlation:.2f} over the recorded steps.",
        "Check the sign of its components.",
        evidence=", ".join(f"{row['name']}: {short(row['correlation_with_original'])}" for row in rows),
        line=lines.of_key(worst["name"]) if worst else lines.result,
    )
