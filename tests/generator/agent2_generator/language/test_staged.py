"""A scripted language model designs for CartPole through the real servers; nothing is trained."""

import json
import os
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from answering_program import ANALYSIS, OBSERVE, written
from answering_program import answer as good_answer
from rich.console import Console
from stub_provider import KEY, Act, StubProvider

from agent2_generator.baselines import create_baselines
from agent2_generator.budget import Clock
from agent2_generator.built_in import BuiltInDesigner
from agent2_generator.designer import Archive, Candidate, Facts
from agent2_generator.display import Display
from agent2_generator.language.anthropic_model import OTHER_SERVER, AnthropicModel
from agent2_generator.language.ledger import Ledger
from agent2_generator.language_designer import LanguageModelDesigner
from agent2_generator.options import BuildOptions
from agent2_generator.recipe import Recipe
from agent2_generator.servers import connect_servers
from agent2_generator.session import Session
from agent2_generator.understand import create, understand
from agent2_schemas import Budget
from agent2_workspace import Workspace

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]
DESIGN = {"decision": "design", "reason": "entries of comparable size"}
WRONG_SHAPE = OBSERVE.replace('"shape": [4]', '"shape": [7]')


@dataclass
class Opened:
    """CartPole, inspected, with its baselines; shared by the tests of this module."""

    session: Session
    facts: Facts
    champion: Candidate


@pytest.fixture(scope="module")
async def opened(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncGenerator[Opened]:
    del anyio_backend
    root = tmp_path_factory.mktemp("staged")
    before = os.environ.get("AGENT2_CONFIG")
    os.environ["AGENT2_CONFIG"] = str(root / "config.toml")
    options = BuildOptions(project="staged", environment="CartPole-v1", budget=Budget(env_steps=6_000))
    async with connect_servers(workspace=root / "workspace") as servers:
        display = Display(Console(stderr=True), is_quiet=True)
        place = Workspace(root / "workspace")
        session = Session(options, place, servers, display, BuiltInDesigner(), Clock(options.budget))
        facts = await understand(session)
        champion = (await create_baselines(session, facts, Archive()))["tuned preset"]
        yield Opened(session, facts, champion)
    if before is None:
        os.environ.pop("AGENT2_CONFIG")
    else:
        os.environ["AGENT2_CONFIG"] = before


@dataclass
class Scripted:
    """A designer with a script, and what came of it."""

    designer: LanguageModelDesigner
    ledger: Ledger
    archive: Archive
    notes: list[str] = field(default_factory=list[str])


def scripted(opened: Opened, provider: StubProvider, number: int, max_tokens: int | None = None) -> Scripted:
    """Make a designer; `number` makes its keys its own: `model-<number>`."""
    model = AnthropicModel("stub-1", api_key=KEY, base_url=provider.url, profile=OTHER_SERVER, provider="messages")
    session, notes = opened.session, list[str]()
    ledger = Ledger(session.journal, model, max_usd=None, max_tokens=max_tokens, prices={})
    designer = LanguageModelDesigner("staged", session.servers, ledger, session.journal, notes.append)
    dummies = {f"d{i}": Candidate(f"d{i}", opened.champion.recipe, opened.champion.attempt) for i in range(number - 1)}
    return Scripted(designer, ledger, Archive(dummies, opened.champion), notes)


def answers(**by_stage: list[str]) -> Callable[[str], Act]:
    """A script: lists of answers by stage (observation, repair …), the good ones where a list has ended."""
    headings = {
        "observation": "You design the observation", "action": "You design the action", "reward": "You design the reward",
        "repair": "Verification rejected", "algorithm": "# Choose the learning", "network": "# Design the networks",
        "hyperparameters": "# Tune the hyperparameters", "sent_back": "Your answer cannot be used",
    }  # fmt: skip

    def act(question: str) -> Act:
        stage = next((name for name, heading in headings.items() if heading in question), "")
        if by_stage.get(stage):
            text = by_stage[stage].pop(0)
            return Act("refusal", "no") if text == "REFUSAL" else Act(text=text)
        return Act(text=good_answer(f"[user]\n{question}"))

    return act


def gave_up(opened: Opened, number: int) -> dict[str, str]:
    """Reasons of the questions of one design that were given up, by stage."""
    events = opened.session.journal.events(kind="llm-gave-up")
    return {e.subject: e.payload["reason"] for e in events if e.subject.startswith(f"model-{number}.")}


async def design(opened: Opened, case: Scripted) -> Recipe:
    with anyio.fail_after(120):
        (recipe,) = await case.designer.propose(opened.facts, case.archive, 1)
    await case.ledger.model.close()
    return recipe


async def test_good_answers_give_a_whole_design_and_are_never_asked_twice(
    opened: Opened, provider: StubProvider
) -> None:
    provider.script = answers()
    case = scripted(opened, provider, 11)
    assert await case.designer.analyse(opened.facts) == ANALYSIS
    recipe = await design(opened, case)
    assert (recipe.key, recipe.parent) == ("model-11", opened.champion.id)
    assert recipe.code.strip() == OBSERVE.strip()
    assert recipe.network["hidden_sizes"] == [32, 32]
    assert "observation: entries of comparable size" in recipe.reason
    assert "network: four entries" in recipe.reason
    asked = provider.questions()
    assert len(asked) == 7
    assert "def observe(observation)" in asked[2], "the action's question carries the observation"
    assert '"hidden_sizes": [32, 32]' in asked[6], "the hyperparameters' question carries the network"
    assert all(ANALYSIS in request["system"][0]["text"] for request in provider.requests[1:])
    candidate = await create(opened.session, recipe, budget_env_steps=6_000)
    assert candidate.attempt.decision == "open"

    provider.script = []
    again = scripted(opened, provider, 11)
    assert await again.designer.analyse(opened.facts) == ANALYSIS
    assert await design(opened, again) == recipe
    assert len(provider.questions()) == 7


async def test_baselines_are_those_of_the_built_in_designer(opened: Opened, provider: StubProvider) -> None:
    case = scripted(opened, provider, 12)
    assert await case.designer.baselines(opened.facts) == await BuiltInDesigner().baselines(opened.facts)
    assert provider.requests == []


async def test_faulty_code_goes_back_with_its_findings_and_is_mended(opened: Opened, provider: StubProvider) -> None:
    provider.script = answers(observation=[written(DESIGN, WRONG_SHAPE)], repair=[written(DESIGN, OBSERVE)])
    recipe = await design(opened, scripted(opened, provider, 13))
    assert recipe.code.strip() == OBSERVE.strip()
    (repair,) = [question for question in provider.questions() if "Verification rejected" in question]
    assert "error" in repair
    assert "[7]" in repair, "the numbered code stands in the question"
    assert gave_up(opened, 13) == {}
    assert opened.session.journal.events(kind="run-started") == (), "no repair costs training"


async def test_after_three_repairs_the_part_stays_and_the_rest_goes_on(opened: Opened, provider: StubProvider) -> None:
    wrong = [written(DESIGN, WRONG_SHAPE.replace("0.2,", f"0.{n},")) for n in range(3, 9)]
    provider.script = answers(observation=wrong[:1], repair=wrong[1:])
    recipe = await design(opened, scripted(opened, provider, 14))
    assert recipe.code == ""
    assert recipe.network["hidden_sizes"] == [32, 32]
    assert sum("Verification rejected" in question for question in provider.questions()) == 3
    (stage,) = gave_up(opened, 14)
    assert stage == "model-14.observation~3.verification"


async def test_a_refusal_leaves_the_part_as_it_is(opened: Opened, provider: StubProvider) -> None:
    provider.script = answers(observation=["REFUSAL"])
    case = scripted(opened, provider, 15)
    recipe = await design(opened, case)
    assert recipe.code == ""
    assert "declined" in gave_up(opened, 15)["model-15.observation"]
    assert any("The observation stays as it is." in note for note in case.notes)


async def test_garbage_and_schema_violations_go_back_with_all_faults(opened: Opened, provider: StubProvider) -> None:
    present = opened.champion.recipe.hyperparameters["learning_rate"]
    provider.script = answers(
        observation=["I have no idea."],
        hyperparameters=[written({"hyperparameters": {"learning_rate": present * 3, "speed": 1}, "mood": "good"})],
        sent_back=[
            written({"decision": "maybe", "reason": 1}),
            written({"decision": "keep", "reason": "it is fine"}),
            written({"hyperparameters": {"learning_rate": present * 3}, "changes": []}),
            written({"hyperparameters": {"learning_rate": present * 1.2},
                     "changes": [{"name": "learning_rate", "why": "slow start"}]}),
        ],
    )  # fmt: skip
    recipe = await design(opened, scripted(opened, provider, 16))
    sent_back = [question for question in provider.questions() if "cannot be used" in question]
    assert "no ```json block" in sent_back[0]
    assert "decision" in sent_back[1]
    assert "reason" in sent_back[1]
    assert "mood" in sent_back[2]
    assert "200%" in sent_back[3]
    assert "gives no reason" in sent_back[3]
    assert recipe.hyperparameters["learning_rate"] == pytest.approx(present * 1.2)
    assert recipe.code == ""
    assert gave_up(opened, 16) == {}


async def test_a_cap_reached_in_the_middle_keeps_what_there_is(opened: Opened, provider: StubProvider) -> None:
    provider.script = answers()
    used = scripted(opened, provider, 17).ledger.spent().tokens
    case = scripted(opened, provider, 17, max_tokens=used + 4_000)
    recipe = await design(opened, case)
    assert 1 <= len(provider.requests) < 6
    assert recipe.code.strip() == OBSERVE.strip()
    assert all("--max-tokens" in reason for reason in gave_up(opened, 17).values())
    assert case.ledger.spent().tokens <= used + 4_000

    provider.script = []
    again = scripted(opened, provider, 17)
    assert await design(opened, again) == recipe, "a resume without the cap walks the same way"


async def test_a_provider_that_dies_later_leaves_the_round_to_the_built_in_designer(
    opened: Opened, provider: StubProvider
) -> None:
    provider.script = [Act("status", "overloaded", 529, times=1000)]
    case = scripted(opened, provider, 18)
    recipe = await design(opened, case)
    assert not recipe.key.startswith("model-")
    assert "529" in gave_up(opened, 18)["model-18.observation"]


async def test_a_refused_recipe_is_mended_by_its_own_designer_only(opened: Opened, provider: StubProvider) -> None:
    provider.script = answers(repair=[written(DESIGN, OBSERVE)])
    case = scripted(opened, provider, 19)
    opened.session.designer, before = case.designer, opened.session.designer
    own = opened.champion.recipe.model_copy(update={"key": "model-19", "code": WRONG_SHAPE, "parent": "c1"})
    mended = await create(opened.session, own, budget_env_steps=6_000)
    assert mended.attempt.decision == "open"
    assert mended.recipe.key == "model-19~1"
    foreign = own.model_copy(update={"key": "a-prior", "code": WRONG_SHAPE})
    rejected = await create(opened.session, foreign, budget_env_steps=6_000)
    assert rejected.attempt.decision == "rejected"
    tangled = own.model_copy(
        update={"key": "model-20", "code": "", "hyperparameters": {**own.hyperparameters, "learning_rate": 5.0}}
    )
    provider.script = lambda _: Act(text=written({"hyperparameters": {"learning_rate": 0.001}, "reason": "in range"}))
    assert (await create(opened.session, tangled, budget_env_steps=6_000)).attempt.decision == "open"
    opened.session.designer = before
    await case.ledger.model.close()


async def test_the_source_is_kept_back_where_the_person_wants_it(opened: Opened, provider: StubProvider) -> None:
    prompt = await opened.session.servers.get_prompt("environment", "analyze_problem", project="staged")
    assert "class CartPoleEnv" in prompt
    private = Facts(
        options=opened.facts.options.model_copy(update={"is_source_sent": False}),
        report=opened.facts.report,
        mdp_suggestions=opened.facts.mdp_suggestions,
        training_suggestions=opened.facts.training_suggestions,
    )
    provider.script = answers()
    case = scripted(opened, provider, 21)
    case.designer.__dict__["_asker"]._journal = FreshJournal(opened.session.journal)
    case.ledger.journal = FreshJournal(opened.session.journal)  # pyright: ignore[reportAttributeAccessIssue]
    await case.designer.analyse(private)
    await case.ledger.model.close()
    sent = json.dumps(provider.requests)
    assert "class CartPoleEnv" not in sent
    assert "not sent" in sent


class FreshJournal:
    """The project's journal without the analysis that another test of this module left in it."""

    def __init__(self, journal: Any) -> None:
        self._journal = journal

    def find(self, key: str) -> Any:
        """Find nothing of the analysis."""
        return None if "analysis" in key else self._journal.find(key)

    def append(self, *args: Any, **given: Any) -> Any:
        """Append under a key of its own."""
        return self._journal.append(*args, **given | {"key": f"fresh-{given.get('key')}"})

    def events(self, **given: Any) -> Any:
        """Give the facts."""
        return self._journal.events(**given)
