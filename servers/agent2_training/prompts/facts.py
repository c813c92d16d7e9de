"""Facts of a project as short text for a language model: each a few lines, none a secret seed."""

import json
from typing import Any

import yaml

from agent2_schemas import EnvironmentReport, Evaluation, MdpDesign
from agent2_workspace import CandidateFolder, ProjectFolder, read_json, read_yaml

CODE_LIMIT_CHARACTERS = 6_000
HISTORY_LIMIT = 20


def environment_facts(project: ProjectFolder) -> str:
    """Spaces, time limit and episode statistics of the environment."""
    if not project.report_json.exists():
        return f"{project.read().environment.name} (not inspected yet: call inspect_environment)"
    report = read_json(project.report_json, EnvironmentReport)
    lines = [
        f"- name: {report.reference.name}",
        f"- observation space: {_short(report.observation_space.model_dump(mode='json'))}",
        f"- action space: {_short(report.action_space.model_dump(mode='json'))}",
        f"- time limit: {report.max_episode_steps or 'none'} environment steps",
        f"- one step takes {report.step_seconds or 0:.2g} s",
        f"- deterministic under a seed: {report.is_deterministic}",
    ]
    for episode in report.episodes:
        lines.append(
            f"- {episode.policy} policy: mean original return {_number(episode.mean_original_return)} "
            f"(min {_number(episode.min_original_return)}, max {_number(episode.max_original_return)}), "
            f"mean length {_number(episode.mean_length)}, "
            f"non-zero reward at {_number(episode.nonzero_reward_fraction)} of the steps"
        )
    lines += [f"- {finding.severity}: {finding.message}" for finding in report.findings]
    return "\n".join(lines)


def candidate_facts(candidate: CandidateFolder | None) -> str:
    """How the agent sees the environment, with the text of mdp.py."""
    if candidate is None:
        return "None chosen: the unchanged environment."
    lines = [f"Candidate {candidate.id}."]
    if candidate.mdp_design_file.exists():
        mdp = read_yaml(candidate.mdp_design_file, MdpDesign)
        lines += [
            f"- the policy sees: {_short(mdp.observation_space.model_dump(mode='json'))}",
            f"- the policy acts in: {_short(mdp.action_space.model_dump(mode='json'))}",
            f"- declared steps: {_short(mdp.stateful.model_dump(mode='json'))}",
            f"- reward scale: {mdp.reward_scale:g}; reward weights: {_short(dict(mdp.reward_weights))}",
        ]
    if candidate.mdp_file.exists():
        lines += ["```python", candidate.mdp_file.read_text(encoding="utf-8")[:CODE_LIMIT_CHARACTERS].rstrip(), "```"]
    return "\n".join(lines)


def history_facts(project: ProjectFolder) -> str:
    """The newest runs with what they trained and how they scored on selection seeds."""
    designs = {event.subject: event.payload for event in project.journal.events(kind="design-written")}
    scores: dict[str, list[Evaluation]] = {}
    for event in project.journal.events(kind="evaluation"):
        evaluation = Evaluation.model_validate(event.payload)
        if evaluation.purpose == "selection" and evaluation.state == "finished":
            scores.setdefault(evaluation.run_id, []).append(evaluation)
    ends = {event.subject: event.payload for event in project.journal.events(kind="run-ended")}
    lines: list[str] = []
    for event in project.journal.events(kind="run-started")[-HISTORY_LIMIT:]:
        run_id, candidate_id = event.payload["run_id"], event.payload["candidate_id"]
        design: dict[str, Any] = designs.get(candidate_id, {})
        end: dict[str, Any] = ends.get(run_id, {})
        means = ", ".join(_number(each.mean_original_return) for each in scores.get(run_id, [])) or "not evaluated"
        lines.append(
            f"- run {run_id} of {candidate_id} ({design.get('algorithm', '?')}, {design.get('title') or 'no title'}, "
            f"{event.payload['budget_env_steps']} env steps): {end.get('state', 'running')}"
            f"{', ' + end['message'] if end.get('message') else ''}; score {means}"
        )
    return "\n".join(lines) or "Nothing yet."


def diagnosis_facts(project: ProjectFolder) -> str:
    """The newest diagnosis of the metrics server, finding by finding."""
    events = project.journal.events(kind="diagnosis")
    if not events:
        return "No diagnosis yet: call diagnose_run."
    payload = events[-1].payload
    findings: list[dict[str, Any]] = (payload.get("diagnosis") or payload).get("findings", [])
    lines = [f"- {each['rule']} ({each['severity']}): {each['symptom']} {each['cause']}" for each in findings]
    return "\n".join([f"Of {events[-1].subject}:", *lines]) if lines else f"{events[-1].subject}: no finding."


def as_yaml(value: dict[str, Any]) -> str:
    """Write a mapping as YAML, in its own order."""
    return yaml.safe_dump(value, sort_keys=False).rstrip()


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 400 else text[:398] + " …"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g}"
