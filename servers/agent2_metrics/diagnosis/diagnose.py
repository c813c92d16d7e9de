"""All rules on one run, in the order of answering."""

from typing import Any, cast

from agent2_metrics.diagnosis import (
    environment_rules,
    evaluation_rules,
    off_policy_rules,
    on_policy_rules,
    reward_rules,
)
from agent2_metrics.diagnosis.facts import Facts, Missing
from agent2_metrics.diagnosis.rule import Evidence, Rule
from agent2_schemas import Design, DesignPatch, Diagnosis, DiagnosisFinding

_BOOKS = (
    environment_rules.BOOK, reward_rules.BOOK, on_policy_rules.BOOK, off_policy_rules.BOOK, evaluation_rules.BOOK,
)  # fmt: skip
_ORDER = (
    # environment and reward first
    1, 26, 19, 17, 18, 20, 21, 22, 24, 25, 39, 30, 31,
    # then optimisation
    2, 3, 4, 5, 7, 8, 9, 10, 12, 14, 33, 34, 35, 36, 40,
    # then evaluation and resources
    28, 32, 27, 29, 38, 42,
)  # fmt: skip
FIRST_ENTROPY = 0.01
_BY_NUMBER = {rule.number: rule for book in _BOOKS for rule in book.rules}
RULES: tuple[Rule, ...] = tuple(_BY_NUMBER[number] for number in _ORDER)
"""All rules: environment and reward, optimisation, evaluation; only then a change of algorithm."""


def diagnose(facts: Facts, source: str) -> Diagnosis:
    """Check every rule.

    Args:
        facts: the evidence.
        source: run id or log folder.

    Returns:
        Findings in the order of answering; a rule without its evidence is `not_checked`, never `healthy`.
    """
    findings: list[DiagnosisFinding] = []
    healthy: list[str] = []
    not_checked: dict[str, str] = {}
    for rule in RULES:
        try:
            evidence = rule.check(facts)
        except Missing as missing:
            not_checked[rule.name] = f"missing: {missing}"
            continue
        if evidence is None:
            healthy.append(rule.name)
        else:
            findings.append(_finding(rule, evidence, facts.design))
    return Diagnosis(source=source, findings=tuple(findings), healthy=tuple(healthy), not_checked=not_checked)


def _finding(rule: Rule, evidence: Evidence, design: Design | None) -> DiagnosisFinding:
    fixes = rule.fixes if evidence.fixes is None else evidence.fixes
    start, end = evidence.window or (None, None)
    return DiagnosisFinding(
        rule=rule.name,
        severity=evidence.severity,
        symptom=evidence.symptom,
        cause=evidence.cause or rule.cause,
        numbers=evidence.numbers,
        window_start=start,
        window_end=end,
        fixes=fixes if design is None else tuple(patch for each in fixes for patch in applicable(each, design)),
        advice=rule.advice,
        source=rule.source,
    )


def applicable(patch: DesignPatch, design: Design) -> tuple[DesignPatch, ...]:
    """Give the patch as it makes sense for this design: nothing where the path is absent or would not change.

    A factor on zero does nothing, so a raised entropy bonus of zero becomes a small one.
    """
    present = value_at(design.model_dump(mode="json"), patch.path)
    if present is _ABSENT:
        return ()
    if patch.operation == "set":
        return () if present == patch.value else (patch,)
    if isinstance(present, bool) or not isinstance(present, int | float) or not isinstance(patch.value, int | float):
        return ()
    if present == 0:
        is_bonus = patch.path.endswith("entropy_coefficient") and patch.value > 1
        bonus = DesignPatch(path=patch.path, operation="set", value=FIRST_ENTROPY, reason=patch.reason)
        return (bonus,) if is_bonus else ()
    return () if isinstance(present, int) and max(1, round(present * patch.value)) == present else (patch,)


_ABSENT = object()


def value_at(data: dict[str, Any], path: str) -> Any:
    """Give the value at a dotted path, or a marker where there is none."""
    place: dict[str, Any] = data
    *parents, last = path.split(".")
    for part in parents:
        inner = place.get(part)
        if not isinstance(inner, dict):
            return _ABSENT
        place = cast("dict[str, Any]", inner)
    return place.get(last, _ABSENT)
