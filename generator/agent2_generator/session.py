"""One build in progress: what every stage needs, and what a resume finds again in the journal."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from agent2_generator.budget import FINISH_SECONDS, Clock
from agent2_generator.designer import Candidate, Designer, Facts
from agent2_generator.display import Display
from agent2_generator.options import BuildOptions
from agent2_generator.recipe import Recipe
from agent2_generator.servers import Servers, Typed
from agent2_schemas import Attempt, Frozen
from agent2_workspace import Journal, ProjectFolder, Workspace

ACTOR = "generator"
Kept = TypeVar("Kept", bound=Frozen)


@dataclass
class Session:
    """Servers, journal, clock and display of one build."""

    options: BuildOptions
    workspace: Workspace
    servers: Servers
    display: Display
    designer: Designer
    clock: Clock
    active_runs: set[str] = field(default_factory=set[str])
    """Runs that must be paused when the build is interrupted."""
    evaluation_seconds: float = 4.0
    """Longest evaluation so far, seconds; before the first one, a usual one."""
    slot_seconds: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """By candidate, how long its full trainings took with their evaluations, seconds."""
    facts: Facts | None = None
    """What is known before any training, once the environment was understood."""

    @property
    def name(self) -> str:
        """Name of the project."""
        return self.options.project

    @property
    def finish_seconds(self) -> float:
        """Time to keep for choosing, scoring, exporting and reporting, seconds: longer where episodes are."""
        return FINISH_SECONDS + 3 * self.evaluation_seconds

    @property
    def folder(self) -> ProjectFolder:
        """Folder of the project; it exists once the environment was inspected."""
        return ProjectFolder(self.workspace.root / "projects" / self.name)

    @property
    def journal(self) -> Journal:
        """Journal of the project."""
        return self.folder.journal

    async def call(
        self, server: str, tool: str, answer: type[Typed], *, may_fail: bool = False, **arguments: object
    ) -> Typed:
        """Call a tool of this project; see `Servers.call`."""
        return await self.servers.call(server, tool, answer, may_fail=may_fail, project=self.name, **arguments)

    def remember(self, kind: str, subject: str, fact: Kept, *, key: str) -> Kept:
        """Write a fact once; after a resume the first one is given back."""
        event = self.journal.append(ACTOR, kind, subject, fact, key=key)
        return type(fact).model_validate(event.payload)

    def recall(self, key: str, model: type[Kept]) -> Kept | None:
        """Read a fact of an earlier session."""
        event = self.journal.find(key)
        return model.model_validate(event.payload) if event else None

    def stage(self, name: str) -> None:
        """A new stage begins: shown, and journalled with the time used so far."""
        self.display.stage(name)
        self.tick(name)

    def tick(self, subject: str) -> None:
        """Journal what was used so far, so that a resume goes on from there."""
        used = {"used_seconds": self.clock.used_seconds, "env_steps": self.clock.env_steps}
        self.journal.append(ACTOR, "clock", subject, used)

    def decide(self, candidate: Candidate, **changes: object) -> None:
        """Change an attempt and journal it."""
        candidate.attempt = Attempt.model_validate(candidate.attempt.model_dump() | changes)
        self.journal.append(ACTOR, "attempt", candidate.id, candidate.attempt)


def used_before(folder: Path) -> float:
    """Wall time that earlier sessions of a build used, seconds."""
    events = Journal(folder / "journal.sqlite").events(kind="clock")
    return float(events[-1].payload["used_seconds"]) if events else 0.0


def new_candidate(candidate_id: str, recipe: Recipe, *, is_accepted: bool) -> Candidate:
    """Enter a recipe's candidate into the archive."""
    attempt = Attempt(
        candidate_id=candidate_id,
        parent_id=recipe.parent,
        change=recipe.change,
        reason=recipe.reason,
        patches=recipe.patches,
        decision="open" if is_accepted else "rejected",
    )
    return Candidate(id=candidate_id, recipe=recipe, attempt=attempt)
