"""Gathering the facts of a report from the journal and the folders."""

import contextlib
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from agent2_metrics.comparing.run_scores import read_run_score, shared_mode
from agent2_metrics.diagnosing import read_report, read_run_design
from agent2_metrics.run_status import read_all_statuses, read_evaluations
from agent2_schemas import (
    Attempt,
    Design,
    Diagnosis,
    Evaluation,
    Finding,
    Isolation,
    RunStatus,
    TargetManifest,
    Verdict,
)
from agent2_targets.report.data import ReportData, Spent
from agent2_workspace import CandidateFolder, Event, ProjectFolder, read_json

LLM_ANSWER = "llm-answer"
"""Kind of the journal's language-model answers: payload with `usd` and `reply.usage` in tokens."""


def gather(project: ProjectFolder) -> ReportData:
    """Read everything a report says, curves apart.

    Raises:
        NotFound: a run's folder lost its run.json.
    """
    events = project.journal.events()
    statuses = read_all_statuses(project)
    target = _target(project)
    verdict = _newest_verdict(events)
    word, reason = _judgement(events, verdict)
    candidate_id, run_id = _delivered(project, target, events, statuses)
    design, mdp_code = _design(project, candidate_id, run_id)
    return ReportData(
        project=project.read(),
        created_at=datetime.now(UTC).isoformat(),
        environment=read_report(project),
        target=target,
        card=target.card if target else None,
        verdict_word=word,
        verdict_reason=reason,
        verdict=verdict,
        design=design,
        mdp_code=mdp_code,
        verification_findings=_verification_findings(project, candidate_id),
        attempts=_attempts(project, events),
        diagnosis=_diagnosis(events, run_id),
        diagnosis_run=run_id,
        runs=statuses,
        purposes={each.run_id: project.run(each.run_id).read_specification().purpose for each in statuses},
        scores=_scores(project, statuses),
        not_enforced=_isolation(project, statuses),
        spent=_spent(events, statuses),
    )


def _target(project: ProjectFolder) -> TargetManifest | None:
    with contextlib.suppress(OSError, ValidationError):
        return read_json(project.target / "manifest.json", TargetManifest)
    return None


def _newest(events: Iterable[Event], kind: str, subject: str | None = None) -> dict[str, Any] | None:
    found = [each.payload for each in events if each.kind == kind and subject in (None, each.subject)]
    return found[-1] if found else None


def _newest_verdict(events: tuple[Event, ...]) -> Verdict | None:
    payload = _newest(events, "verdict")
    with contextlib.suppress(ValidationError):
        return Verdict.model_validate(payload) if payload else None
    return None


def _judgement(events: tuple[Event, ...], verdict: Verdict | None) -> tuple[str, str]:
    """Word and reason: of the verdict where there is one, else of the build that decided against testing."""
    if verdict is not None:
        return verdict.word, verdict.reason
    payload = _newest(events, "judgement") or {}
    return str(payload.get("word", "not tested")), str(payload.get("reason", ""))


def _delivered(
    project: ProjectFolder, target: TargetManifest | None, events: tuple[Event, ...], statuses: tuple[RunStatus, ...]
) -> tuple[str, str]:
    """Candidate and run that the report is about: the delivered ones, else the winner, else the newest."""
    if target is not None:
        return target.candidate_id, target.run_id
    winners = [each.subject for each in events if each.kind == "attempt" and each.payload.get("decision") == "winner"]
    if winners:
        own = [each.run_id for each in statuses if each.candidate_id == winners[-1]]
        return winners[-1], own[-1] if own else ""
    if statuses:
        return statuses[-1].candidate_id, statuses[-1].run_id
    candidates = project.candidate_ids()
    return (candidates[-1] if candidates else ""), ""


def _design(project: ProjectFolder, candidate_id: str, run_id: str) -> tuple[Design | None, str]:
    design: Design | None = None
    folder = project.root / "candidates" / candidate_id if candidate_id else None
    if run_id and run_id in project.run_ids():
        design, folder = read_run_design(project.run(run_id), project, candidate_id)
    elif folder is not None:
        with contextlib.suppress(Exception):
            design = CandidateFolder(folder).read_design()
    code = ""
    if folder is not None:
        with contextlib.suppress(OSError):
            code = (folder / "mdp.py").read_text(encoding="utf-8")
    return design, code


def _verification_findings(project: ProjectFolder, candidate_id: str) -> tuple[Finding, ...]:
    if not candidate_id:
        return ()
    with contextlib.suppress(Exception):
        return CandidateFolder(project.root / "candidates" / candidate_id).read_verification().findings
    return ()


def _attempts(project: ProjectFolder, events: tuple[Event, ...]) -> tuple[Attempt, ...]:
    """The newest word on every candidate; those made by hand, without a recorded attempt, by their design."""
    attempts: dict[str, Attempt] = {}
    for event in events:
        if event.kind == "attempt":
            with contextlib.suppress(ValidationError):
                attempts[event.subject] = Attempt.model_validate(event.payload)
    for candidate_id in project.candidate_ids():
        if candidate_id in attempts:
            continue
        with contextlib.suppress(Exception):
            design = CandidateFolder(project.root / "candidates" / candidate_id).read_design()
            attempts[candidate_id] = Attempt(
                candidate_id=candidate_id, parent_id=design.parent_id, change=design.title or "Written by hand.",
                reason="No reason was recorded.",
            )  # fmt: skip
    order = {candidate_id: index for index, candidate_id in enumerate(project.candidate_ids())}
    return tuple(sorted(attempts.values(), key=lambda each: order.get(each.candidate_id, len(order))))


def _diagnosis(events: tuple[Event, ...], run_id: str) -> Diagnosis | None:
    payload = _newest(events, "diagnosis", run_id) if run_id else None
    with contextlib.suppress(ValidationError):
        return Diagnosis.model_validate(payload) if payload else None
    return None


def _scores(project: ProjectFolder, statuses: tuple[RunStatus, ...]) -> dict[str, float | None]:
    scores: dict[str, float | None] = {}
    for status in statuses:
        is_verdict = project.run(status.run_id).read_specification().purpose == "verdict"
        purpose = "verdict" if is_verdict else "selection"
        mode = shared_mode(project, [status.run_id], purpose)
        scores[status.run_id] = read_run_score(project, status.run_id, purpose, mode).score
    return scores


def _isolation(project: ProjectFolder, statuses: tuple[RunStatus, ...]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    evaluations: list[Evaluation] = [
        each for status in statuses for each in read_evaluations(project.run(status.run_id))
    ]
    report = read_report(project)
    _note(found, "Inspection", [report.isolation if report else None])
    _note(found, "Training", [each.isolation for each in statuses])
    _note(found, "Evaluation", [each.isolation for each in evaluations])
    return found


def _note(found: dict[str, tuple[str, ...]], what: str, isolations: Iterable[Isolation | None]) -> None:
    for tier in sorted({each.tier for each in isolations if each is not None}):
        limits = {limit for each in isolations if each is not None and each.tier == tier for limit in each.not_enforced}
        found[f"{what}, tier {tier}"] = tuple(sorted(limits))


def _spent(events: tuple[Event, ...], statuses: tuple[RunStatus, ...]) -> Spent:
    clock = _newest(events, "clock") or {}
    calls = [each.payload for each in events if each.kind == LLM_ANSWER]
    prices = [call.get("usd") for call in calls]
    tokens = [
        value
        for call in calls
        for name, value in call["reply"]["usage"].items()
        if name.endswith("_tokens") and isinstance(value, int)
    ]
    used = clock.get("used_seconds")
    return Spent(
        env_steps=sum(each.progress.env_steps for each in statuses if each.progress),
        run_seconds=sum(each.seconds or 0.0 for each in statuses),
        build_seconds=float(used) if isinstance(used, int | float) else None,
        tokens=sum(tokens) if calls else None,
        usd=sum(float(price) for price in prices if isinstance(price, int | float))
        if calls and all(isinstance(price, int | float) for price in prices)
        else None,
        model_calls=len(calls),
    )
