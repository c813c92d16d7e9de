"""The ledger: every call to a language model in the journal, every answer kept before it is used, no cap crossed."""

import hashlib
import time
from collections.abc import Mapping

from pydantic import Field

from agent2_generator.language.prices import Price, price_usd
from agent2_generator.language.protocol import (
    AnswerCut,
    ChatModel,
    ModelFailed,
    Question,
    Reply,
    Usage,
    estimate_tokens,
    prompt_text,
)
from agent2_schemas import Agent2Error, Frozen, Metric, PrerequisiteError
from agent2_workspace import Event, Journal

ACTOR = "generator"
CUT_RETRIES = 3
"""How often an answer that broke off is asked for again; each lost one is marked `possibly paid`."""
FEWEST_OUTPUT_TOKENS = 1_000
"""A call whose cap leaves less room than this for its answer is not made."""


class CapReached(Agent2Error):
    """The next call could cross `--max-usd` or `--max-tokens`, so it is not made."""


class LlmCall(Frozen):
    """A question on its way (kind `llm-call`)."""

    key: str = Field(description="Stage and attempt: what a resume looks for.")
    model: str = Field(description="`provider:model`.")
    prompt_sha256: str = Field(description="Hash of the whole question.")
    question: Question = Field(description="The question, word for word.")
    estimated_input_tokens: int = Field(description="Estimate that the caps were checked with, tokens.")


class LlmAnswer(Frozen):
    """An answer (kind `llm-answer`, key `llm-answer-<key>`)."""

    key: str = Field(description="Stage and attempt.")
    model: str = Field(description="`provider:model`.")
    prompt_sha256: str = Field(description="Hash of the question it answers.")
    reply: Reply = Field(description="The answer, word for word, with its usage.")
    usd: Metric = Field(description="Price, US dollars; null: unknown.")
    seconds: float = Field(description="Wall time of the call, seconds.")


class LlmLost(Frozen):
    """A call without an answer (kinds `llm-possibly-paid` and `llm-failed`)."""

    key: str = Field(description="Stage and attempt.")
    call_event: int = Field(description="Journal id of its llm-call.")
    reason: str = Field(description="What happened.")
    tokens: int = Field(default=0, description="Most tokens that may be charged.")
    usd: Metric = Field(default=0.0, description="Most that may be charged, US dollars; null: unknown.")


class Spent(Frozen):
    """What the calls of a project used, over all sessions."""

    calls: int = Field(default=0, description="Answers.")
    input_tokens: int = Field(default=0, description="Prompt tokens, cached ones included.")
    output_tokens: int = Field(default=0, description="Answer tokens.")
    usd: Metric = Field(default=0.0, description="US dollars; null: at least one model's price is unknown.")
    possibly_paid_calls: int = Field(default=0, description="Calls that broke off or were in flight at a kill.")
    possibly_paid_tokens: int = Field(default=0, description="Most tokens that those may be charged.")
    possibly_paid_usd: Metric = Field(default=0.0, description="Most that those may cost, US dollars.")

    @property
    def tokens(self) -> int:
        """All tokens, the possibly paid ones included."""
        return self.input_tokens + self.output_tokens + self.possibly_paid_tokens


class Ledger:
    """Asks a model once for each key, however often a build is resumed."""

    def __init__(
        self,
        journal: Journal,
        model: ChatModel,
        *,
        max_usd: float | None,
        max_tokens: int | None,
        prices: Mapping[str, Price],
    ) -> None:
        """Keep the model's answers in a project's journal.

        Args:
            journal: journal of the project.
            model: who is asked.
            max_usd: cap over all sessions, US dollars; None: no cap.
            max_tokens: cap over all sessions, tokens of prompts and answers; None: no cap.
            prices: by `provider:model`.

        Raises:
            PrerequisiteError: `max_usd` cannot be held, because the model's price is not known.
        """
        self.model = model
        self.journal = journal
        self._max_usd = max_usd
        self._max_tokens = max_tokens
        self._prices = dict(prices)
        if max_usd is not None and self._price(0, 0) is None:
            raise PrerequisiteError(
                f"The price of {model.name} is not known, so --max-usd cannot be held.",
                "Write it into prices.toml (docs/language-models.md), or use --max-tokens.",
            )

    def find(self, key: str) -> Reply | None:
        """Give the answer that an earlier session received."""
        event = self.journal.find(f"llm-answer-{key}")
        return LlmAnswer.model_validate(event.payload).reply if event else None

    async def ask(self, key: str, subject: str, question: Question) -> Reply:
        """Give the kept answer for a key, or ask for one and keep it.

        Args:
            key: stage and attempt, unique in the project.
            subject: what it is about, for readers of the journal.
            question: what is asked; its output limit is lowered where a cap leaves less.

        Returns:
            The answer, which the journal holds by now.

        Raises:
            CapReached: the call could cross a cap; nothing was sent.
            ModelFailed: the provider gave no answer.
        """
        known = self.find(key)
        if known is not None:
            return known
        self._mark_open_calls(key)
        for attempt in range(CUT_RETRIES + 1):
            fitted = self._fitted(question)
            call = self._begin(key, subject, fitted)
            try:
                return await self._answered(key, subject, fitted)
            except AnswerCut as error:
                self._mark(call, error.message)
                if attempt == CUT_RETRIES:
                    raise
            except ModelFailed as error:
                fact = LlmLost(key=key, call_event=call.id, reason=error.message)
                self.journal.append(ACTOR, "llm-failed", subject, fact)
                raise
        raise AssertionError("unreachable")

    def spent(self) -> Spent:
        """Add up what all sessions used."""
        answers = [LlmAnswer.model_validate(e.payload) for e in self.journal.events(kind="llm-answer")]
        lost = [LlmLost.model_validate(e.payload) for e in self.journal.events(kind="llm-possibly-paid")]
        return Spent(
            calls=len(answers),
            input_tokens=sum(a.reply.usage.total - a.reply.usage.output_tokens for a in answers),
            output_tokens=sum(a.reply.usage.output_tokens for a in answers),
            usd=_sum([a.usd for a in answers]),
            possibly_paid_calls=len(lost),
            possibly_paid_tokens=sum(each.tokens for each in lost),
            possibly_paid_usd=_sum([each.usd for each in lost]),
        )

    def estimate_usd(self, input_tokens: int, output_tokens: int) -> float | None:
        """Price a call before it is made; None where the price is unknown."""
        return self._price(input_tokens, output_tokens)

    def _price(self, input_tokens: int, output_tokens: int) -> float | None:
        """The most a call may cost: the whole prompt written to the cache, where that costs more."""
        plain = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
        cached = Usage(cache_write_tokens=input_tokens, output_tokens=output_tokens)
        prices = [price_usd(self.model.name, usage, self._prices) for usage in (plain, cached)]
        return _largest(prices)

    def _begin(self, key: str, subject: str, question: Question) -> Event:
        text = prompt_text(question)
        fact = LlmCall(
            key=key,
            model=self.model.name,
            prompt_sha256=_sha256(question),
            question=question,
            estimated_input_tokens=estimate_tokens(text),
        )
        return self.journal.append(ACTOR, "llm-call", subject, fact)

    async def _answered(self, key: str, subject: str, question: Question) -> Reply:
        started = time.monotonic()
        reply = await self.model.ask(question)
        fact = LlmAnswer(
            key=key,
            model=self.model.name,
            prompt_sha256=_sha256(question),
            reply=reply,
            usd=price_usd(self.model.name, reply.usage, self._prices),
            seconds=time.monotonic() - started,
        )
        event = self.journal.append(ACTOR, "llm-answer", subject, fact, key=f"llm-answer-{key}")
        return LlmAnswer.model_validate(event.payload).reply

    def _fitted(self, question: Question) -> Question:
        """Lower the output limit to what the caps leave.

        Raises:
            CapReached: less than a useful answer is left.
        """
        if self._max_tokens is None and self._max_usd is None:
            return question
        spent, prompt = self.spent(), estimate_tokens(prompt_text(question))
        room = question.max_output_tokens
        if self._max_tokens is not None:
            room = min(room, self._max_tokens - spent.tokens - prompt)
            if room < FEWEST_OUTPUT_TOKENS:
                raise CapReached(
                    f"The next call could cross --max-tokens {self._max_tokens:,} ({spent.tokens:,} used, its prompt has about {prompt:,})."
                )
        if self._max_usd is not None:
            left = (
                self._max_usd - (spent.usd or 0.0) - (spent.possibly_paid_usd or 0.0) - (self._price(prompt, 0) or 0.0)
            )
            each = self._price(0, 1) or 0.0
            room = room if each == 0 else min(room, int(left / each))
            if room < FEWEST_OUTPUT_TOKENS:
                raise CapReached(f"The next call could cross --max-usd {self._max_usd:g} ({spent.usd or 0:.4f} used).")
        return question.model_copy(update={"max_output_tokens": room})

    def _mark_open_calls(self, key: str) -> None:
        """Mark the calls of a key that a kill left in flight."""
        closed = {
            event.payload["call_event"]
            for kind in ("llm-failed", "llm-possibly-paid")
            for event in self.journal.events(kind=kind)
        }
        for event in self.journal.events(kind="llm-call"):
            if event.payload["key"] == key and event.id not in closed:
                self._mark(event, "The build was killed or interrupted while this call was in flight.")

    def _mark(self, call: Event, reason: str) -> None:
        fact = LlmCall.model_validate(call.payload)
        prompt, output = fact.estimated_input_tokens, fact.question.max_output_tokens
        lost = LlmLost(
            key=fact.key, call_event=call.id, reason=reason, tokens=prompt + output, usd=self._price(prompt, output)
        )
        self.journal.append(ACTOR, "llm-possibly-paid", call.subject, lost, key=f"possibly-paid-{call.id}")


def _sha256(question: Question) -> str:
    return hashlib.sha256(question.model_dump_json().encode()).hexdigest()


def _sum(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _largest(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return max(known) if len(known) == len(values) else None
