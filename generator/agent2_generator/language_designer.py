"""The language model as designer: analyses, models the MDP, configures the training, reads the feedback, repairs."""

from collections.abc import Callable

from agent2_generator.built_in import BuiltInDesigner
from agent2_generator.designer import Archive, Candidate, Facts, Rejection
from agent2_generator.language.answers import AnswerRejected
from agent2_generator.language.asking import Asker
from agent2_generator.language.fitting import without_source
from agent2_generator.language.ledger import Ledger
from agent2_generator.language_stages.configuring import configure
from agent2_generator.language_stages.modelling import model_mdp
from agent2_generator.language_stages.refining import refine
from agent2_generator.language_stages.repairing import repaired
from agent2_generator.language_stages.workplace import OWN_PREFIX, Workplace
from agent2_generator.recipe import Recipe
from agent2_generator.servers import Servers
from agent2_workspace import Journal

SHORTEST_ANALYSIS_CHARACTERS = 80


class LanguageModelDesigner:
    """Asks a model stage by stage; the built-in designer gives the baselines and whatever the model leaves open."""

    def __init__(
        self, project: str, servers: Servers, ledger: Ledger, journal: Journal, note: Callable[[str], None]
    ) -> None:
        """Design for one project.

        Args:
            project: name of the project.
            servers: connected servers; prompts and drafts go through them.
            ledger: asks the model and keeps its answers.
            journal: journal of the project.
            note: shows a line to the person.
        """
        self.name = f"language model {ledger.model.name}"
        self._built_in = BuiltInDesigner()
        self._servers = servers
        self._asker = Asker(ledger, journal, note)
        self._place = Workplace(project, servers, self._asker)

    async def analyse(self, facts: Facts) -> str:
        """Have the problem analysed; every later question carries the answer.

        Raises:
            ModelFailed: the provider fails at the very first question, so a person should see it at once.
        """
        asked = await self._asker.ask(
            "analysis",
            lambda: analysis_prompt(self._servers, facts),
            _read_analysis,
            instead="The built-in analysis is used.",
            must_answer=True,
        )
        text = asked.value or await self._built_in.analyse(facts)
        self._asker.analysis = text
        return text

    async def baselines(self, facts: Facts) -> tuple[Recipe, Recipe]:
        """Take those of the built-in designer: what a model must beat does not come from a model."""
        return await self._built_in.baselines(facts)

    async def propose(self, facts: Facts, archive: Archive, count: int) -> tuple[Recipe, ...]:
        """Give one recipe of the model, and the built-in designer's next ones for the other `count - 1` cores."""
        champion = archive.champion
        if champion is None:
            return ()
        key = f"{OWN_PREFIX}{len(archive.candidates) + 1}"
        is_designed = any(each.recipe.key.startswith(OWN_PREFIX) for each in archive.candidates.values())
        recipe = (
            await refine(self._place, facts, archive, champion, key)
            if is_designed and champion.run_ids
            else await self._design(facts, champion, key)
        )
        own = () if recipe is None else (recipe,)
        return own + await self._built_in.propose(facts, archive, count - len(own))

    async def repair(self, facts: Facts, recipe: Recipe, rejection: Rejection) -> Recipe | None:
        """Have the model mend its own recipe; those of the built-in designer are not touched."""
        if not recipe.key.startswith(OWN_PREFIX):
            return None
        await self._place.suspect(recipe.key, rejection)
        return await repaired(self._place, facts, recipe, rejection)

    async def _design(self, facts: Facts, champion: Candidate, key: str) -> Recipe | None:
        """The paper's two stages: the MDP, then the training."""
        start = champion.recipe.model_copy(update={"parent": champion.id, "patches": ()})
        modelled, candidate_id = await model_mdp(self._place, facts, start, key)
        done = await configure(self._place, facts, modelled, candidate_id, key)
        change = differences(champion.recipe, done)
        if not change:
            self._asker.note("language model: leaves the champion's design as it is")
            return None
        title = f"{self.name}: {change}"[:120]
        sources = tuple(dict.fromkeys((*done.sources, self.name)))
        return done.model_copy(update={"key": key, "change": change, "title": title, "sources": sources})


async def analysis_prompt(servers: Servers, facts: Facts) -> str:
    """The first question, without the source where the person keeps it private."""
    prompt = await servers.get_prompt("environment", "analyze_problem", project=facts.options.project)
    return prompt if facts.options.is_source_sent else without_source(prompt)


def differences(old: Recipe, new: Recipe) -> str:
    """What a staged design changed, in words; empty where nothing."""
    parts: list[str] = []
    if new.code != old.code:
        parts.append("new mdp.py")
    before, after = old.stateful.model_dump(), new.stateful.model_dump()
    parts += [f"{name} = {value}" for name, value in after.items() if value != before[name]]
    if new.reward_scale != old.reward_scale:
        parts.append(f"reward_scale = {new.reward_scale:g}")
    if new.algorithm != old.algorithm:
        return ", ".join([*parts, f"{new.algorithm} instead of {old.algorithm}"])
    for name in ("network", "hyperparameters"):
        present = getattr(old, name)
        parts += [f"{key} = {value}" for key, value in getattr(new, name).items() if value != present.get(key)]
    return ", ".join(parts)


def _read_analysis(text: str) -> str:
    if len(text.strip()) < SHORTEST_ANALYSIS_CHARACTERS:
        raise AnswerRejected("This is no analysis: write the four sections that were asked for.")
    return text.strip()
