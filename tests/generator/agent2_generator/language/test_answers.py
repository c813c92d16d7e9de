"""Answers are read by their form; guard rails hold; prompts fit whatever is in them."""

import json
from pathlib import Path
from typing import Any

import pytest
from answering_program import written

from agent2_generator.designer import Archive, Candidate, Facts, Rejection
from agent2_generator.language.answers import AnswerRejected, MdpAnswer, read_code, read_json
from agent2_generator.language.fitting import PROMPT_TOKENS, fitted, without_source
from agent2_generator.language.protocol import estimate_tokens
from agent2_generator.language.rules import too_large
from agent2_generator.language_designer import differences
from agent2_generator.language_stages.refining import read_refinement
from agent2_generator.language_stages.workplace import Workplace
from agent2_generator.options import BuildOptions
from agent2_generator.recipe import Recipe, from_suggestions
from agent2_generator.session import new_candidate
from agent2_schemas import (
    BoxSpace,
    Budget,
    CandidateWritten,
    CorrectableError,
    DesignPatch,
    Diagnosis,
    DiagnosisFinding,
    DiscreteSpace,
    EnvironmentReference,
    EnvironmentReport,
    Finding,
    NetworkDesign,
    PPOHyperparameters,
    RunFailed,
    TrainingSuggestion,
)

REPORT = EnvironmentReport(
    reference=EnvironmentReference(name="CartPole-v1"), observation_space=BoxSpace(shape=(4,), dtype="float32", low=None, high=None),
    action_space=DiscreteSpace(n=2), max_episode_steps=500, is_deterministic=True, step_seconds=1e-5, reset_seconds=1e-5,
    start_seconds=0.1, episodes=(),
)  # fmt: skip
PPO = TrainingSuggestion(
    name="tuned preset", algorithm="PPO", network=NetworkDesign(), normalise_observation="none",
    suggested_env_steps=50_000, reason="r", source="s",
    hyperparameters=PPOHyperparameters(
        learning_rate=1e-3, gamma=0.99, num_envs=8, rollout_steps=128, gae_lambda=0.95, entropy_coefficient=0.0,
        value_coefficient=0.5, max_gradient_norm=0.5, minibatch_size=256, epochs=10, clip_range=0.2,
    ),
)  # fmt: skip
PROPOSAL = (DesignPatch(path="hyperparameters.gamma", operation="set", value=0.95),)
REWARD = 'REWARD_WEIGHTS = {"original": 1.0}\n\n\ndef reward(previous_observation, action, observation, original_reward, terminated, truncated, info):\n    return {"original": original_reward}\n'


def facts(**options: object) -> Facts:
    given = {"project": "p", "environment": "CartPole-v1", "budget": Budget(seconds=60.0)} | options
    return Facts(
        options=BuildOptions.model_validate(given), report=REPORT, mdp_suggestions=(), training_suggestions=(PPO,)
    )


def champion_of(rule: str = "") -> Candidate:
    champion = new_candidate("c1", from_suggestions("tuned-preset", PPO, None, parent=None), is_accepted=True)
    finding = DiagnosisFinding(rule=rule, severity="error", symptom="s", cause="c", numbers={}, source="s")
    champion.diagnosis = Diagnosis(source="r1", findings=(finding,) if rule else (), healthy=(), not_checked={})
    return champion


def refine(data: dict[str, Any], code: str = "", *, rule: str = "", **options: object) -> Recipe | str:
    champion = champion_of(rule)
    archive = Archive({"c1": champion}, champion)
    return read_refinement(written(data, code), facts(**options), archive, champion, PROPOSAL, "model-2")


def patch(path: str, operation: str, value: object) -> dict[str, object]:
    return {"path": path, "operation": operation, "value": value}


def faults(data: dict[str, Any], code: str = "", **given: Any) -> str:
    with pytest.raises(AnswerRejected) as caught:
        refine(data, code, **given)
    return str(caught.value)


def test_a_patch_gives_a_recipe_of_the_champion() -> None:
    data = {"action": "patch", "patches": [patch("hyperparameters.learning_rate", "multiply", 0.8)], "reason": "noisy"}
    recipe = refine(data)
    assert isinstance(recipe, Recipe)
    assert (recipe.parent, recipe.reason) == ("c1", "noisy")
    assert recipe.hyperparameters["learning_rate"] == pytest.approx(8e-4)


def test_more_than_thirty_percent_is_taken_only_where_it_mends_a_fault_that_fired() -> None:
    data = {"action": "patch", "patches": [patch("hyperparameters.learning_rate", "multiply", 0.1)], "reason": "r"}
    assert "less than 30%" in faults(data)
    assert "less than 30%" in faults(data | {"mends": "kl-too-large"})
    assert isinstance(refine(data | {"mends": "kl-too-large"}, rule="kl-too-large"), Recipe)


def test_at_most_five_changes_and_only_names_and_ranges_that_exist() -> None:
    names = ("learning_rate", "gamma", "gae_lambda", "clip_range", "value_coefficient", "max_gradient_norm")
    many = [patch(f"hyperparameters.{name}", "multiply", 0.9) for name in names]
    assert "6 changes at once" in faults({"action": "patch", "patches": many, "reason": "r"})
    unknown = [patch("hyperparameters.speed", "set", 1), patch("nowhere", "set", 1)]
    said = faults({"action": "patch", "patches": unknown, "reason": "r"})
    assert "hyperparameters.speed" in said
    assert "nowhere" in said
    beyond = [patch("hyperparameters.gamma", "set", 1.2), patch("network.activation", "set", "sine")]
    said = faults({"action": "patch", "patches": beyond, "reason": "r"})
    assert "gamma" in said
    assert "activation" in said


def test_powers_of_two_may_move_to_their_neighbours() -> None:
    assert too_large({"n": 256, "m": 256, "f": 0.5}, {"n": 128, "m": 100, "f": 0.6}) == [
        "m: 256 to 100 is a change of 61%; less than 30%."
    ]


def test_the_optimisers_proposal_may_be_accepted_whatever_its_size() -> None:
    recipe = refine({"action": "optimiser", "reason": "as good as mine"})
    assert isinstance(recipe, Recipe)
    assert recipe.hyperparameters["gamma"] == 0.95


def test_a_fixed_part_stays_fixed() -> None:
    data = {"action": "patch", "patches": [patch("hyperparameters.gamma", "multiply", 0.99)], "reason": "r"}
    assert "keeps fixed" in faults(data, design_parts=("reward",))
    code = {"action": "code", "reason": "r"}
    assert "reward() is not asked for" in faults(code, REWARD, design_parts=("observation",))
    assert "keeps fixed" in faults(code | {"history": 4}, REWARD, design_parts=("reward",))
    assert isinstance(refine(code, REWARD, design_parts=("reward",)), Recipe)


def test_what_was_tried_is_not_tried_again_and_stopping_is_an_answer() -> None:
    assert "at least one patch" in faults({"action": "patch", "patches": [], "reason": "r"})
    same = [patch("network.activation", "set", "relu"), patch("network.activation", "set", "tanh")]
    assert "tried as c1" in faults({"action": "patch", "patches": same, "reason": "r"})
    assert refine({"action": "stop", "reason": "at its ceiling"}) == "at its ceiling"


def test_the_last_json_block_and_the_one_python_block_count() -> None:
    text = 'Think {"a": 1}.\n```json\n{"decision": "keep", "reason": "old"}\n```\nNo:\n```json\n{"decision": "keep", "reason": "new"}\n```'
    assert read_json(text, MdpAnswer).reason == "new"
    assert read_json('{"decision": "keep", "reason": "bare"}', MdpAnswer).reason == "bare"
    for broken in ("", "[1, 2]", "```json\n{\n```", json.dumps({"decision": "keep"})):
        with pytest.raises(AnswerRejected):
            read_json(broken, MdpAnswer)
    with pytest.raises(AnswerRejected, match="2 ```python blocks"):
        read_code("```python\na = 1\n```\n```python\nb = 1\n```")
    with pytest.raises(AnswerRejected, match=r"line 1"):
        read_code("```python\ndef (:\n```")
    with pytest.raises(AnswerRejected, match="characters"):
        read_code("```python\n" + "a = 1\n" * 20_000 + "```")


@pytest.mark.parametrize("source", ["x = 1\n" * 200_000, "y" * 3_000_000, "é" * 900_000, "```\n" * 100_000])
def test_a_prompt_fits_its_budget_however_long_the_source(source: str) -> None:
    prompt = f"# Task\nbalance\n\n## Source of the environment\n````python\n{source}\n````\n\n## What to write\nFour sections."
    short = fitted(prompt)
    assert estimate_tokens(short) <= PROMPT_TOKENS
    assert short.startswith("# Task\nbalance")
    assert short.endswith("Four sections.")
    assert "characters left out" in short
    assert fitted("short") == "short"


def test_the_source_is_cut_out_even_where_it_holds_the_next_heading() -> None:
    prompt = "a\n## Source of the environment\n```\nSECRET\n## What to write\nSECRET\n```\n## What to write\nb"
    assert "SECRET" not in without_source(prompt)
    assert without_source(prompt).endswith("## What to write\nb")
    with pytest.raises(ValueError, match="no section"):
        without_source("nothing of the kind")


def test_differences_name_what_changed() -> None:
    old = champion_of().recipe
    assert differences(old, old) == ""
    new = old.model_copy(update={"code": REWARD, "network": old.network | {"hidden_sizes": [32]}})
    assert differences(old, new) == "new mdp.py, hidden_sizes = [32]"


@pytest.mark.anyio
@pytest.mark.parametrize("is_broken", [True, False])
async def test_designs_that_fail_alike_stop_the_build_only_where_known_good_code_fails_too(is_broken: bool) -> None:
    class OneServer:
        calls = 0

        async def call(self, *_: object, **given: Any) -> CandidateWritten:
            self.calls += 1
            assert "original_reward" in given["code"]
            if is_broken:
                raise CorrectableError("The sandbox does not start.")
            return CandidateWritten(candidate_id="c9")

    server = OneServer()
    place = Workplace("p", server, None)  # pyright: ignore[reportArgumentType]  # only `call` is used
    finding = Finding(code="import-failed", severity="error", message="line 3: no module 'x1'")
    rejection = Rejection(candidate_id="c2", stage="mdp", findings=(finding,))
    await place.suspect("model-3.observation", rejection)
    await place.suspect("model-3.observation~1", rejection)
    assert server.calls == 0, "repairs of one design are one design"
    if is_broken:
        with pytest.raises(RunFailed, match="code that is known to be good: The sandbox does not start"):
            await place.suspect("model-3.reward", rejection)
    else:
        await place.suspect("model-3.reward", rejection)
        assert server.calls == 1


def test_every_form_is_beside_the_code() -> None:
    folder = Path(__file__).parents[4] / "generator/agent2_generator/language/forms"
    assert sorted(path.stem for path in folder.glob("*.md")) == [
        "mdp_answer", "refine_answer", "repair_answer", "system", "training_repair",
    ]  # fmt: skip
