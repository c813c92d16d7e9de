"""Stage 1: inspect the environment, gather the published priors, analyse the problem."""

from pydantic import Field

from agent2_generator.designer import Candidate, Facts
from agent2_generator.recipe import Recipe
from agent2_generator.session import ACTOR, Session, new_candidate
from agent2_schemas import (
    AlgorithmCards,
    CandidateWritten,
    DesignWritten,
    EnvironmentReport,
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
        environment=options.environment,
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
                budget_env_steps=options.budget.env_steps or 100_000,
            )
        ).suggestions,
    )  # fmt: skip
    if not facts.training_suggestions:
        await _explain_no_algorithm(session, facts)
    analysis = Analysis(designer=session.designer.name, text=await session.designer.analyse(facts))
    session.journal.append(ACTOR, "stage", "analysis", analysis, key="analysis")
    return facts


async def create(session: Session, recipe: Recipe, *, budget_env_steps: int) -> Candidate:
    """Write a recipe's candidate: MDP first, verified, then algorithm, network and hyperparameters.

    Returns:
        The candidate; its attempt is `rejected` where verification or the design has an error, else `open`.
    """
    stateful = recipe.stateful.model_dump(mode="json", exclude={"observation_clip"})
    written = await session.call(
        "mdp",
        "write_mdp",
        CandidateWritten,
        code=recipe.code,
        parent=recipe.parent or "",
        title=recipe.title,
        info_keys=list(recipe.info_keys),
        reward_scale=recipe.reward_scale,
        idempotency_key=f"recipe-{recipe.key}",
        **stateful,
    )
    errors = [f.message for f in written.report.findings if f.severity == "error"] if written.report else []
    if not errors:
        design = await session.call(
            "training",
            "write_training",
            DesignWritten,
            candidate=written.candidate_id,
            algorithm=recipe.algorithm,
            network=recipe.network,
            hyperparameters=recipe.hyperparameters,
            budget_env_steps=budget_env_steps,
            title=recipe.title,
            sources=list(recipe.sources),
        )
        errors = [finding.message for finding in design.findings if finding.severity == "error"]
    candidate = new_candidate(written.candidate_id, recipe, is_accepted=not errors)
    if errors:
        session.display.note(f"{candidate.id} rejected before training: {'; '.join(errors)}")
    session.decide(candidate)
    return candidate


async def _explain_no_algorithm(session: Session, facts: Facts) -> None:
    cards = (await session.call("training", "list_algorithms", AlgorithmCards)).algorithms
    fitting = ", ".join(card.name for card in cards if card.is_applicable) or "none"
    raise RunFailed(
        f"{facts.options.algorithm or 'No algorithm'} cannot act in this {facts.report.action_space.kind} action space.",
        f"Algorithms that can: {fitting}.",
    )
