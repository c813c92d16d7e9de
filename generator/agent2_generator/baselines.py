"""The designs that a winner must beat: tuned preset, library default, and the user's own."""

from agent2_generator.designer import Archive, Candidate, Facts
from agent2_generator.recipe import Recipe
from agent2_generator.session import Session
from agent2_generator.understand import create
from agent2_schemas import CorrectableError

_FIELDS = ("algorithm", "network", "hyperparameters")


async def create_baselines(session: Session, facts: Facts, archive: Archive) -> dict[str, Candidate]:
    """Write the baselines' candidates.

    Returns:
        By name, `tuned preset` first.

    Raises:
        CorrectableError: a baseline is no valid design.
    """
    session.stage("model and configure")
    tuned, default = await session.designer.baselines(facts)
    recipes = {"tuned preset": tuned, "library default": default}
    if facts.options.baseline is not None:
        recipes["your baseline"] = _users_own(facts, tuned)
    steps = facts.run_env_steps
    baselines: dict[str, Candidate] = {}
    for name, recipe in recipes.items():
        candidate = await create(session, recipe, budget_env_steps=steps)
        archive.candidates[candidate.id] = candidate
        baselines[name] = candidate
        session.display.note(f"{candidate.id}: {name}, {recipe.algorithm}")
        if candidate.attempt.decision == "rejected":
            raise CorrectableError(f"The {name} is no valid design for this environment.", "See the findings above.")
    return baselines


def _users_own(facts: Facts, tuned: Recipe) -> Recipe:
    given = facts.options.baseline or {}
    missing = [name for name in ("algorithm",) if name not in given]
    unknown = sorted(set(given) - {*_FIELDS, "normalise_observation", "reward_scale"})
    if missing or unknown:
        raise CorrectableError(
            f"--baseline: {'missing ' + ', '.join(missing) if missing else ''}{'unknown ' + ', '.join(unknown) if unknown else ''}.",
            "It is YAML with algorithm, network, hyperparameters, normalise_observation and reward_scale, as in design.yaml.",
        )
    stateful = tuned.stateful.model_copy(update={"normalise_observation": given.get("normalise_observation", "none")})
    return Recipe.model_validate(
        {
            "key": "your-baseline", "title": "your baseline", "change": "the design of --baseline", "reason": "given by the user",
            "stateful": stateful.model_dump(), "reward_scale": given.get("reward_scale", 1.0),
            **{name: given[name] for name in _FIELDS if name in given},
        }
    )  # fmt: skip
