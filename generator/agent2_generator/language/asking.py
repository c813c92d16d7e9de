"""One stage's question: asked once, read by a schema, sent back with all faults, given up in good order."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.resources import files
from string import Template
from typing import Any, Generic, TypeVar

from pydantic import Field

from agent2_generator.language.answers import AnswerRejected
from agent2_generator.language.fitting import fitted
from agent2_generator.language.ledger import ACTOR, CapReached, Ledger
from agent2_generator.language.protocol import ModelFailed, Question, Reply
from agent2_schemas import Frozen
from agent2_workspace import Journal

MAX_REPAIRS = 3
"""How often an answer goes back with its findings; no repair costs training."""

Value = TypeVar("Value")
Prompt = Callable[[], Awaitable[str]]
"""Fetches the prompt; called only where no answer is kept."""


class GaveUp(Frozen):
    """A question without a usable answer (kind `llm-gave-up`): what was done instead stands in `instead`."""

    key: str = Field(description="Stage and attempt.")
    reason: str = Field(description="Why.")
    instead: str = Field(description="What the build did.")


@dataclass(frozen=True)
class Asked(Generic[Value]):
    """What came of a question."""

    value: Value | None
    """None where it was given up."""
    repairs: int = 0
    """Repairs that it took."""


class Asker:
    """Asks for one stage at a time."""

    def __init__(self, ledger: Ledger, journal: Journal, note: Callable[[str], None]) -> None:
        """Ask through a ledger; `note` shows a line to the person."""
        self.ledger = ledger
        self._journal = journal
        self._note = note
        self.analysis = ""
        """The problem analysis; it stands in the stable prefix of every later question."""

    async def ask(
        self,
        key: str,
        prompt: Prompt,
        read: Callable[[str], Value],
        *,
        instead: str,
        repairs: int = MAX_REPAIRS,
        must_answer: bool = False,
    ) -> Asked[Value]:
        """Ask until the answer can be read, at most `repairs` times again.

        Args:
            key: stage and attempt, unique in the project.
            prompt: gives the question.
            read: turns the text into a value, or raises AnswerRejected.
            instead: what is done where there is no usable answer.
            repairs: how often a faulty answer goes back.
            must_answer: a provider that fails raises instead of being given up.

        Returns:
            The value, or None where the question was given up; that is journalled and stays so after a resume.

        Raises:
            ModelFailed: the provider failed, and `must_answer` is true.
        """
        if self._journal.find(f"llm-gave-up-{key}"):
            return Asked(None)
        opening: dict[str, Any] = {"role": "user", "content": ""}
        messages: list[dict[str, Any]] = [opening]
        faults: tuple[str, ...] = ("",)
        for attempt in range(repairs + 1):
            name = f"{key}.{attempt}"
            try:
                if self.ledger.find(name) is None and not opening["content"]:
                    opening["content"] = fitted(await prompt())
                question = Question(system=self._system(), messages=tuple(messages))
                reply = await self.ledger.ask(name, key, question)
            except CapReached as error:
                return self.give_up(key, error.message, instead)
            except ModelFailed as error:
                if must_answer:
                    raise
                return self.give_up(key, error.message, instead)
            if reply.stop == "refusal":
                return self.give_up(key, f"{self.ledger.model.name} declined to answer: {reply.text[:200]}", instead)
            faults = _faults_of(reply)
            if not faults:
                try:
                    return Asked(read(reply.text), attempt)
                except AnswerRejected as error:
                    faults = error.faults
            messages += [_said(reply), {"role": "user", "content": _sent_back(faults)}]
        return self.give_up(key, f"{repairs + 1} answers broke their form, the last one: {faults[0]}", instead)

    def give_up(self, key: str, reason: str, instead: str) -> Asked[Any]:
        """Record that a question has no usable answer, so that a resumed build walks the same way."""
        fact = GaveUp(key=key, reason=reason, instead=instead)
        self._journal.append(ACTOR, "llm-gave-up", key, fact, key=f"llm-gave-up-{key}")
        self._note(f"language model, {key}: {reason} {instead}")
        return Asked(None)

    def note(self, text: str) -> None:
        """Show a line to the person."""
        self._note(text)

    def _system(self) -> str:
        system = form("system")
        return f"{system}\n## Analysis of this problem\n{self.analysis}" if self.analysis else system


def form(name: str, **values: str) -> str:
    """Fill one of the texts beside this file."""
    text = files("agent2_generator.language").joinpath(f"forms/{name}.md").read_text(encoding="utf-8")
    return Template(text).substitute(values) if values else text


def _faults_of(reply: Reply) -> tuple[str, ...]:
    if reply.stop == "length":
        return ("The answer was cut at its length limit: write less before the JSON, and shorter code.",)
    return () if reply.text.strip() else ("The answer is empty.",)


def _said(reply: Reply) -> dict[str, Any]:
    """The model's own turn; thinking goes back verbatim, as its signatures demand."""
    content = [block for block in reply.content if block.get("type") in ("text", "thinking", "redacted_thinking")]
    return {"role": "assistant", "content": content or [{"type": "text", "text": reply.text or "(empty)"}]}


def _sent_back(faults: tuple[str, ...]) -> str:
    listed = "\n".join(f"- {fault}" for fault in faults)
    return f"Your answer cannot be used:\n{listed}\n\nAnswer again, whole, in the form that was asked for."
