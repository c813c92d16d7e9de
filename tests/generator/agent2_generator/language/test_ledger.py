"""The ledger asks once for each key, keeps answers before they are used, marks what may have been paid, holds caps."""

import json
from pathlib import Path

import anyio
import pytest
from stub_provider import KEY, Act, StubProvider

from agent2_generator.language.anthropic_model import OTHER_SERVER, AnthropicModel
from agent2_generator.language.ledger import CapReached, Ledger
from agent2_generator.language.prices import Price
from agent2_generator.language.protocol import ModelFailed, Question, Reply, Usage
from agent2_schemas import PrerequisiteError
from agent2_workspace import Journal

pytestmark = pytest.mark.anyio
QUESTION = Question(system="You are brief.", messages=({"role": "user", "content": "Say hello."},))
DOLLAR = {"messages:stub-1": Price(input=1e3, output=1e4)}
"""So dear that one answer of the stub costs half a dollar."""


def ledger(provider: StubProvider, journal: Journal, **caps: float | int | None) -> Ledger:
    model = AnthropicModel("stub-1", api_key=KEY, base_url=provider.url, profile=OTHER_SERVER, provider="messages")
    given = {"max_usd": None, "max_tokens": None} | caps
    return Ledger(journal, model, prices=DOLLAR, **given)  # pyright: ignore[reportArgumentType]


async def ask_until_refused(book: Ledger, stage: str) -> None:
    for number in range(99):
        await book.ask(f"{stage}.{number}", stage, QUESTION)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal.sqlite")


async def test_an_answered_call_is_never_repeated(provider: StubProvider, journal: Journal) -> None:
    provider.script = [Act(text="first"), Act(text="second")]
    book = ledger(provider, journal)
    assert (await book.ask("analysis.0", "analysis", QUESTION)).text == "first"
    await book.model.close()
    again = ledger(provider, journal)
    assert (await again.ask("analysis.0", "analysis", QUESTION)).text == "first"
    assert (await again.ask("analysis.1", "analysis", QUESTION)).text == "second"
    await again.model.close()
    assert len(provider.requests) == 2
    call, answer = journal.events(kind="llm-call")[0], journal.events(kind="llm-answer")[0]
    assert call.id < answer.id
    assert call.payload["question"]["messages"][0]["content"] == "Say hello."
    assert call.payload["prompt_sha256"] == answer.payload["prompt_sha256"]
    assert answer.payload["reply"]["usage"]["output_tokens"] == 40
    spent = again.spent()
    assert (spent.calls, spent.tokens) == (2, 330)
    assert spent.usd == pytest.approx(2 * (100 * 1e3 + 40 * 1e4) / 1e6)
    assert KEY not in json.dumps([event.payload for event in journal.events()])


async def test_a_call_in_flight_at_a_kill_is_marked_possibly_paid(provider: StubProvider, journal: Journal) -> None:
    class Hanging:
        name = "messages:stub-1"

        async def ask(self, question: Question) -> Reply:
            await anyio.sleep_forever()
            raise AssertionError(question)

        async def close(self) -> None: ...

    killed = Ledger(journal, Hanging(), max_usd=None, max_tokens=None, prices=DOLLAR)
    with anyio.move_on_after(0.05):
        await killed.ask("analysis.0", "analysis", QUESTION)
    provider.script = [Act(text="at last")]
    book = ledger(provider, journal)
    assert (await book.ask("analysis.0", "analysis", QUESTION)).text == "at last"
    await book.model.close()
    lost = journal.events(kind="llm-possibly-paid")
    assert [event.payload["call_event"] for event in lost] == [journal.events(kind="llm-call")[0].id]
    spent = book.spent()
    assert spent.possibly_paid_calls == 1
    assert spent.possibly_paid_tokens > QUESTION.max_output_tokens
    assert spent.tokens == 165 + spent.possibly_paid_tokens


async def test_a_cut_stream_is_asked_again_and_each_loss_is_told(provider: StubProvider, journal: Journal) -> None:
    provider.script = [Act("cut", "half an answer", times=2), Act(text="whole")]
    book = ledger(provider, journal)
    assert (await book.ask("analysis.0", "analysis", QUESTION)).text == "whole"
    assert len(journal.events(kind="llm-possibly-paid")) == 2
    provider.script = [Act("cut", "half an answer", times=99)]
    with pytest.raises(ModelFailed, match="broke off"):
        await book.ask("analysis.1", "analysis", QUESTION)
    assert len(journal.events(kind="llm-possibly-paid")) == 6
    await book.model.close()


async def test_a_failed_call_is_told_and_asked_anew_after_a_resume(provider: StubProvider, journal: Journal) -> None:
    provider.script = [Act("status", "no credit", 402), Act(text="paid again")]
    book = ledger(provider, journal)
    with pytest.raises(ModelFailed, match="402"):
        await book.ask("analysis.0", "analysis", QUESTION)
    assert "no credit" in journal.events(kind="llm-failed")[0].payload["reason"]
    assert (await book.ask("analysis.0", "analysis", QUESTION)).text == "paid again"
    assert journal.events(kind="llm-possibly-paid") == ()
    await book.model.close()


async def test_a_cap_stops_before_the_call_that_could_cross_it(provider: StubProvider, journal: Journal) -> None:
    provider.script = [Act(text="one", times=99)]
    book = ledger(provider, journal, max_tokens=1_500)
    await book.ask("a.0", "a", QUESTION)
    assert provider.requests[0]["max_tokens"] < 1_500, "the output limit is what the cap leaves"
    with pytest.raises(CapReached, match="--max-tokens"):
        await ask_until_refused(book, "b")
    assert book.spent().tokens <= 1_500
    sent = len(provider.requests)
    dear = ledger(provider, journal, max_usd=20.0)
    with pytest.raises(CapReached, match="--max-usd"):
        await ask_until_refused(dear, "c")
    assert len(provider.requests) > sent
    spent = dear.spent()
    assert spent.usd is not None
    assert 9 < spent.usd <= 20.0
    await book.model.close()
    await dear.model.close()


async def test_a_cap_in_dollars_needs_a_price(journal: Journal) -> None:
    class Unpriced:
        name = "openai:unheard-of"

        async def ask(self, question: Question) -> Reply:
            return Reply(model=self.name, text=str(question), stop="end", usage=Usage())

        async def close(self) -> None: ...

    with pytest.raises(PrerequisiteError, match="price of openai:unheard-of is not known"):
        Ledger(journal, Unpriced(), max_usd=1.0, max_tokens=None, prices={})
    book = Ledger(journal, Unpriced(), max_usd=None, max_tokens=None, prices={})
    await book.ask("a.0", "a", QUESTION)
    assert book.spent().usd is None, "unknown, never zero"
