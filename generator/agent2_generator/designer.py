"""The Designer: proposes for one stage at a time; the pipeline trains, judges and decides."""

from dataclasses import dataclass, field
from typing import Literal, Protocol

from agent2_generator.options import BuildOptions
from agent2_generator.recipe import Recipe
from agent2_schemas import (
    Attempt,
    Diagnosis,
    EnvironmentReport,
    Finding,
    MdpSuggestion,
    TrainingSuggestion,
)


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is known before any training."""

    options: BuildOptions
    report: EnvironmentReport
    mdp_suggestions: tuple[MdpSuggestion, ...]
    training_suggestions: tuple[TrainingSuggestion, ...]

    @property
    def run_env_steps(self) -> int:
        """Length of one training: the person's, else the published one."""
        return self.options.run_env_steps or self.training_suggestions[0].suggested_env_steps


@dataclass
class Candidate:
    """A candidate in the archive: its recipe, runs and scores."""

    id: str
    recipe: Recipe
    attempt: Attempt
    run_ids: list[str] = field(default_factory=list[str])
    """Runs at the full budget, by seed index."""
    score: float | None = None
    """Shrunken mean over seeds, as compare_runs gives it."""
    diagnosis: Diagnosis | None = None


@dataclass
class Archive:
    """All candidates of a search, in the order they were tried."""

    candidates: dict[str, Candidate] = field(default_factory=dict[str, Candidate])
    champion: Candidate | None = None
    noise: float | None = None
    """Pooled standard deviation of a candidate's run scores, as the last ranking gave it."""

    def has(self, key: str) -> bool:
        """Whether a recipe was tried."""
        return any(candidate.recipe.key == key for candidate in self.candidates.values())


@dataclass(frozen=True, kw_only=True)
class Rejection:
    """Why a recipe's candidate was refused before any training."""

    candidate_id: str
    stage: Literal["mdp", "training"]
    """Which half was refused: `write_mdp` or `write_training`."""
    findings: tuple[Finding, ...]
    """All findings, at least one of severity error."""


class Designer(Protocol):
    """Proposes designs from facts, archive and diagnosis; it never trains, scores or decides.

    Every method must give the same answer for the same facts and archive, so that a resumed build walks the same way.
    A designer changes only the parts that `facts.options.design_parts` names.
    """

    name: str
    """How the report calls it."""

    async def analyse(self, facts: Facts) -> str:
        """Describe objectives, constraints, characteristics of the environment and two or three key challenges."""
        ...

    async def baselines(self, facts: Facts) -> tuple[Recipe, Recipe]:
        """Give the tuned preset and the library default, both on the unchanged MDP, in this order."""
        ...

    async def propose(self, facts: Facts, archive: Archive, count: int) -> tuple[Recipe, ...]:
        """Give up to `count` untried recipes, most promising first; none ends the search."""
        ...

    async def repair(self, facts: Facts, recipe: Recipe, rejection: Rejection) -> Recipe | None:
        """Mend a refused recipe under another key; None where the designer has nothing better."""
        ...
