"""Stage 1: inspect the environment, gather the published priors, analyse the problem."""

from pathlib import Path

from pydantic import Field

from agent2_generator.designer import Candidate, Facts, Rejection
from agent2_generator.recipe import Recipe
from agent2_generator.session import ACTOR, Session, new_candidate
from agent2_schemas import (
    AlgorithmCards,
    CandidateWritten,
    CorrectableError,
    DesignWritten,
    EnvironmentReport,
    Finding,
    Frozen,
    Inspection,
    MdpSuggestions,
    RunFailed,
    TrainingSuggestions,
)


class EnvironmentUnfit(RunFailed):
    """The inspection found errors: the environment must be mended before training."""

    def __init__(self, report: EnvironmentReport | None, message: str, advice: str) -> None:
        """Keep the report, so that all findings can be shown at once."""
        super().__init__(message, advice)
        self.report = report


class Analysis(Frozen):
    """The designer's problem analysis."""

    designer: str = Field(description="Which designer wrote it.")
    text: str = Field(description="Objectives, constraints, characteristics, key challenges.")


async def understand(session: Session) -> Facts:
    """Inspect the environment (this opens the project) and gather what is known about such environments.

    Raises:
        EnvironmentUnfit: a finding of severity error.
        CorrectableError: the environment cannot be built.
    """
    options = session.options
    inspection = await session.call(
        "environment",
        "inspect_environment",
        Inspection,
        may_fail=True,
        environment=_environment(session),
        keyword_arguments=options.keyword_arguments,
        max_episode_steps=options.max_episode_steps,
        task=options.task,
        context=options.context,
        seed=options.seed,
        detail="full",
    )
    report = inspection.report
    errors = [finding for finding in report.findings if finding.severity == "error"] if report else []
    if report is None or errors or inspection.state == "failed":
        raise EnvironmentUnfit(
            report,
            inspection.message or f"{options.environment} has {len(errors)} error(s) and cannot be trained on.",
            "Mend the environment; `agent2 inspect` shows all findings.",
        )
    session.stage(f"understand {report.reference.name}")
    for adaptation in report.adaptations:
        session.display.note(f"adapted: {adaptation}")
    facts = Facts(
        options=options,
        report=report,
        mdp_suggestions=(await session.call("mdp", "suggest_mdp", MdpSuggestions)).suggestions,
        training_suggestions=(
            await session.call(
                "training", "suggest_training", TrainingSuggestions, algorithm=options.algorithm or "",
                budget_env_steps=options.run_env_steps or options.budget.env_steps or 100_000,
            )
        ).suggestions,
    )  # fmt: skip
    if not facts.training_suggestions:
        await _explain_no_algorithm(session, facts)
    session.facts = facts
    analysis = Analysis(designer=session.designer.name, text=await session.designer.analyse(facts))
    session.journal.append(ACTOR, "stage", "analysis", analysis, key="analysis")
    return facts


def _environment(session: Session) -> str:
    """Name the environment: as typed, or by the project's copy where a resumed build's file has gone."""
    typed = session.options.environment
    file, is_file, _ = typed.rpartition(".py")
    if is_file and session.folder.snapshot.is_dir() and not Path(f"{file}.py").exists():
        return session.folder.read().environment.name
    return typed


async def create(session: Session, recipe: Recipe, *, budget_env_steps: int) -> Candidate:
    """Write a recipe's candidate: MDP first, verified, then algorithm, network and hyperparameters.

    What is refused goes back to the designer with all findings, until it has nothing better; none of it costs training.

    Returns:
        The candidate; its attempt is `rejected` where verification or the design has an error, else `open`.
    """
    candidate_id, rejection = await _write(session, recipe, budget_env_steps)
    while rejection is not None and session.facts is not None:
        session.display.note(f"{candidate_id} rejected before training: {_errors(rejection)}")
        mended = await session.designer.repair(session.facts, recipe, rejection)
        if mended is None:
            break
        recipe = mended
        candidate_id, rejection = await _write(session, recipe, budget_env_steps)
    candidate = new_candidate(candidate_id, recipe, is_accepted=rejection is None)
    session.decide(candidate)
    return candidate


async def _write(session: Session, recipe: Recipe, budget_env_steps: int) -> tuple[str, Rejection | None]:
    """Write both halves of a candidate; give its id, and what was refused."""
    written = await session.call("mdp", "write_mdp", CandidateWritten, **recipe.mdp_arguments())
    findings = written.report.findings if written.report else ()
    if any(finding.severity == "error" for finding in findings):
        return written.candidate_id, Rejection(candidate_id=written.candidate_id, stage="mdp", findings=findings)
    try:
        design = await session.call(
            "training",
            "write_training",
            DesignWritten,
            may_fail=True,
            candidate=written.candidate_id,
            budget_env_steps=budget_env_steps,
            **recipe.training_arguments(),
        )
    except CorrectableError as error:
        design = DesignWritten(state="failed", candidate_id=written.candidate_id, message=str(error))
    return written.candidate_id, training_rejection(design)


def training_rejection(design: DesignWritten) -> Rejection | None:
    """What `write_training` refused; None where it accepted the design."""
    findings = design.findings
    is_named = any(finding.severity == "error" for finding in findings)
    if design.state != "failed" and not is_named:
        return None
    if not is_named:
        findings = (*findings, Finding(code="refused", severity="error", message=design.message))
    return Rejection(candidate_id=design.candidate_id, stage="training", findings=findings)


def _errors(rejection: Rejection) -> str:
    return "; ".join(finding.message for finding in rejection.findings if finding.severity == "error")


async def _explain_no_algorithm(session: Session, facts: Facts) -> None:
    cards = (await session.call("training", "list_algorithms", AlgorithmCards)).algorithms
    fitting = ", ".join(card.name for card in cards if card.is_applicable) or "none"
    raise RunFailed(
        f"{facts.options.algorithm or 'No algorithm'} cannot act in this {facts.report.action_space.kind} action space.",
        f"Algorithms that can: {fitting}.",
    )
