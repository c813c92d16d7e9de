"""The design of a candidate: algorithms that fit, published settings, and design.yaml with its policy.py."""

from typing import Any

import agent2_targets
from agent2_schemas import (
    AlgorithmCards,
    CorrectableError,
    Design,
    DesignWritten,
    EnvironmentReport,
    Finding,
    MdpDesign,
    NotFound,
    TrainingSuggestions,
)
from agent2_training.catalogue import algorithm_cards, complete_design, suggest
from agent2_workspace import CandidateFolder, ProjectFolder, read_json, read_yaml, short_lock, write_whole, write_yaml


def list_algorithms(project: ProjectFolder | None) -> AlgorithmCards:
    """List the catalogue; with a project, say what fits its action space."""
    kind = read_report(project).action_space.kind if project is not None else None
    return AlgorithmCards(
        algorithms=algorithm_cards(kind), next_step="suggest_training" if project else "inspect_environment"
    )


def suggest_training(project: ProjectFolder, algorithm: str, budget_env_steps: int) -> TrainingSuggestions:
    """Give published settings, best first.

    Raises:
        CorrectableError: no algorithm of that name fits the project's action space.
    """
    report = read_report(project)
    suggestions = suggest(report, algorithm, budget_env_steps)
    if not suggestions:
        fitting = [card.name for card in algorithm_cards(report.action_space.kind) if card.is_applicable]
        raise CorrectableError(
            f"No setting for algorithm {algorithm!r} in a {report.action_space.kind} action space.",
            f"Choose {', '.join(fitting)}." if fitting else "Write an act() with another ACTION_SPACE first.",
        )
    return TrainingSuggestions(suggestions=suggestions, next_step="write_training")


def write_training(project: ProjectFolder, candidate: CandidateFolder, **request: Any) -> DesignWritten:
    """Complete the design of a candidate and write it with its networks.

    Args:
        project: the project.
        candidate: the candidate that `write_mdp` made.
        **request: arguments of the tool, see `complete_design`.

    Returns:
        The design, or all findings where one is an error; then nothing is written.

    Raises:
        NotFound: the candidate has no MDP design yet.
    """
    if not candidate.mdp_design_file.exists():
        raise NotFound(
            f"Candidate {candidate.id!r} has no mdp.yaml.", "Call write_mdp first; its report must be accepted."
        )
    design, findings = complete_design(
        candidate_id=candidate.id,
        mdp=read_yaml(candidate.mdp_design_file, MdpDesign),
        report=read_report(project),
        parent_id=_parent_id(project, candidate),
        **request,
    )
    if design is None:
        return DesignWritten(
            state="failed",
            candidate_id=candidate.id,
            findings=findings,
            message=f"Nothing was written: {_errors(findings)}",
            next_step="write_training with the findings mended",
        )
    policy = agent2_targets.render_policy(design)
    with short_lock(candidate.root / ".design.lock"):
        write_whole(candidate.policy_file, policy)
        write_yaml(candidate.design_file, design)
    project.journal.append("training", "design-written", candidate.id, design)
    return DesignWritten(candidate_id=candidate.id, design=design, findings=findings, next_step="start_training")


def read_report(project: ProjectFolder) -> EnvironmentReport:
    """Read the inspection of the project's environment.

    Raises:
        NotFound: it was not inspected.
    """
    if not project.report_json.exists():
        raise NotFound(f"Project {project.name!r} has no inspection.", "Call inspect_environment(project=…) first.")
    return read_json(project.report_json, EnvironmentReport)


def describe_design(answer: DesignWritten) -> str:
    """Say in a few lines what was written, or why nothing was."""
    design = answer.design
    if design is None:
        return answer.message
    findings = "; ".join(f"{finding.severity}: {finding.message}" for finding in answer.findings)
    return (
        f"Design of {answer.candidate_id} written: {design.algorithm}, "
        f"{'x'.join(map(str, design.network.hidden_sizes))} {design.network.activation}, "
        f"learning rate {design.hyperparameters.learning_rate:g}, gamma {design.hyperparameters.gamma:g}, "
        f"{design.budget_env_steps:,} env steps. {findings} Next: start_training."
    )


def _parent_id(project: ProjectFolder, candidate: CandidateFolder) -> str | None:
    """Who a candidate was derived from: as its earlier design says, else as the journal does."""
    if candidate.design_file.exists():
        return read_yaml(candidate.design_file, Design).parent_id
    for event in project.journal.events(kind="candidate-written", subject=candidate.id):
        parent = event.payload.get("parent_id") or event.payload.get("parent")
        if isinstance(parent, str) and parent:
            return parent
    return None


def _errors(findings: tuple[Finding, ...]) -> str:
    return "; ".join(f"{each.message} {each.advice}".strip() for each in findings if each.severity == "error")
