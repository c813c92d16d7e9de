"""Whole projects over a Messages-API server on this machine: whatever the provider does, each ends as a person would want."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from answering_program import OBSERVE, written
from answering_program import answer as good_answer
from stub_provider import Act, StubProvider

pytestmark = pytest.mark.timeout(600)
BUILD = ("build", "CartPole-v1", "--task", "balance the pole", "--algorithm", "PPO", "--run-length", "1k-steps",
         "--budget", "8k-steps", "--name", "scripted", "--llm")  # fmt: skip
DESIGN = {"decision": "design", "reason": "entries of comparable size"}
WRONG_SHAPE = OBSERVE.replace('"shape": [4]', '"shape": [7]')
OBSERVATION, REPAIR, SENT_BACK = "You design the observation", "Verification rejected", "Your answer cannot be used"
Script = Callable[[str], Act]


def playing(**by_stage: list[Act]) -> Script:
    """Play these acts at a stage, one a question, and the good answer everywhere else."""
    headings = {"observation": OBSERVATION, "repair": REPAIR, "sent_back": SENT_BACK}

    def act(question: str) -> Act:
        stage = next((name for name, heading in headings.items() if heading in question), "")
        return by_stage[stage].pop(0) if by_stage.get(stage) else Act(text=good_answer(f"[user]\n{question}"))

    return act


def delivered(command: Any, provider: StubProvider, script: Script, *more: str) -> dict[str, Any]:
    """Build with a script to the end; no process is left, and the journal holds every answer that was used."""
    provider.script = script
    result = command.run(*BUILD, f"messages:{provider.url}:stub-1", *more, timeout_seconds=500)
    assert result["state"] == "delivered", command.progress()
    assert Path(result["target"], "manifest.json").exists()
    assert command.processes() == []
    return result


def told(command: Any) -> Counter[str]:
    """How many facts of each kind the journal holds about the language model."""
    kinds = ("llm-call", "llm-answer", "llm-failed", "llm-possibly-paid", "llm-gave-up")
    return Counter({kind: len(events) for kind in kinds if (events := command.events("scripted", kind))})


def gave_up(command: Any) -> dict[str, str]:
    """Reasons by question."""
    return {event.subject: event.payload["reason"] for event in command.events("scripted", "llm-gave-up")}


def changes(command: Any) -> list[str]:
    """What the candidates changed, in the order of the archive."""
    attempts = {event.subject: event.payload["change"] for event in command.events("scripted", "attempt")}
    return list(attempts.values())


@pytest.mark.slow
def test_good_answers_are_designed_trained_and_judged(command: Any, provider: StubProvider) -> None:
    result = delivered(command, provider, playing())
    assert result["tokens"] == 165 * len(provider.requests)
    assert result["usd"] is None, "the price of this model is not known, so it is not said to be zero"
    assert "new mdp.py, hidden_sizes = [32, 32]" in changes(command)
    assert set(told(command)) == {"llm-call", "llm-answer"}
    answered = [event.subject for event in command.events("scripted", "llm-answer")]
    stages = ("observation", "action", "reward", "network", "hyperparameters")
    assert answered[:6] == ["analysis", *(f"model-3.{stage}" for stage in stages)]


@pytest.mark.slow
def test_faulty_code_is_repaired_before_any_training(command: Any, provider: StubProvider) -> None:
    acts = [Act(text=written(DESIGN, WRONG_SHAPE))]
    delivered(command, provider, playing(observation=acts, repair=[Act(text=written(DESIGN, OBSERVE))]))
    assert any("new mdp.py" in change for change in changes(command))
    assert gave_up(command) == {}
    repair = next(e for e in command.events("scripted", "llm-answer") if e.subject == "model-3.observation.repair")
    assert repair.payload["key"] == "model-3.observation.repair.0"


@pytest.mark.slow
def test_a_refusal_leaves_the_part_and_goes_on(command: Any, provider: StubProvider) -> None:
    delivered(command, provider, playing(observation=[Act("refusal", "I would rather not")]))
    assert list(gave_up(command)) == ["model-3.observation"]
    assert "declined to answer: I would rather not" in gave_up(command)["model-3.observation"]
    assert "hidden_sizes = [32, 32]" in changes(command), "the parts that were answered are trained"
    assert "The observation stays as it is." in command.progress()


@pytest.mark.slow
def test_words_without_a_form_and_broken_schemas_go_back_until_they_fit(command: Any, provider: StubProvider) -> None:
    back = [Act(text=written({"decision": "perhaps", "reason": 7})), Act(text=written(DESIGN, OBSERVE))]
    delivered(command, provider, playing(observation=[Act(text="As a poet I see poles.")], sent_back=back))
    assert gave_up(command) == {}
    assert any("new mdp.py" in change for change in changes(command))
    faults = [question for question in provider.questions() if SENT_BACK in question]
    assert "no ```json block" in faults[0]
    assert "decision" in faults[1]
    assert "reason" in faults[1]


@pytest.mark.slow
def test_a_storm_of_rate_limits_is_waited_out(command: Any, provider: StubProvider) -> None:
    delivered(command, provider, playing(observation=[Act("status", "slow down", 429)] * 4))
    assert set(told(command)) == {"llm-call", "llm-answer"}
    assert any("new mdp.py" in change for change in changes(command))


@pytest.mark.slow
def test_a_provider_that_fails_for_good_leaves_the_search_to_the_built_in_designer(
    command: Any, provider: StubProvider
) -> None:
    def script(question: str) -> Act:
        analysis = "You are an analyst" in question
        return Act(text=good_answer(f"[user]\n{question}")) if analysis else Act("status", "overloaded", 529)

    delivered(command, provider, script)
    assert told(command)["llm-answer"] == 1
    assert all("529" in reason for reason in gave_up(command).values())
    assert len(changes(command)) >= 3, "the built-in designer's proposal was tried"


@pytest.mark.slow
def test_a_server_that_is_no_api_is_said_and_does_not_stop_the_project(command: Any, provider: StubProvider) -> None:
    delivered(command, provider, playing(observation=[Act("garbage")] * 4))
    assert "no Messages-API answer" in gave_up(command)["model-3.observation"]
    assert "hidden_sizes = [32, 32]" in changes(command)


@pytest.mark.slow
def test_a_stream_that_dies_is_asked_again_and_counted_as_possibly_paid(command: Any, provider: StubProvider) -> None:
    result = delivered(command, provider, playing(observation=[Act("cut", "half of an answer")]))
    assert told(command)["llm-possibly-paid"] == 1
    (lost,) = command.events("scripted", "llm-possibly-paid")
    assert lost.payload["key"] == "model-3.observation.0"
    assert any("new mdp.py" in change for change in changes(command))
    assert result["tokens"] == 165 * told(command)["llm-answer"] + lost.payload["tokens"]


def test_a_refused_key_is_said_at_once_and_leaves_no_project(command: Any, provider: StubProvider) -> None:
    provider.script = [Act("status", "invalid x-api-key", 401, times=9)]
    process = command.start(*BUILD, f"messages:{provider.url}:stub-1", "--json")
    result = command.result(process, timeout_seconds=120)
    assert process.returncode == 1
    assert result["state"] == "failed"
    assert "401: invalid x-api-key" in result["message"]
    assert "docs/language-models.md" in command.progress()
    assert not (command.workspace / "projects" / "scripted").exists()
    assert command.processes() == []
