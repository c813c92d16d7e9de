"""What a language model is to Agent²: a question in, a reply out, and what it cost."""

from typing import Any, Literal, Protocol

from pydantic import Field

from agent2_schemas import Frozen, RunFailed

StopReason = Literal["end", "length", "refusal", "tool_use"]
"""end: a whole answer; length: cut at the output limit; refusal: the model declines; tool_use: it wants tools called."""


class Question(Frozen):
    """One call: a stable prefix that providers may cache, the conversation, and tools where they may be used."""

    system: str = Field(description="Stable prefix: role and rules; equal over many calls of a project.")
    messages: tuple[dict[str, Any], ...] = Field(
        description="Conversation in the Messages block format: role and content (text, or a list of blocks)."
    )
    max_output_tokens: int = Field(default=8_000, ge=1, description="Limit of the answer, tokens.")
    tools: tuple[dict[str, Any], ...] = Field(default=(), description="Tools with name, description, input_schema.")


class Usage(Frozen):
    """Tokens of one call, as the provider counted them; zero where it does not say."""

    input_tokens: int = Field(default=0, ge=0, description="Uncached prompt tokens.")
    output_tokens: int = Field(default=0, ge=0, description="Answer tokens, thinking included.")
    cache_read_tokens: int = Field(default=0, ge=0, description="Prompt tokens read from the provider's cache.")
    cache_write_tokens: int = Field(default=0, ge=0, description="Prompt tokens written to that cache.")
    is_estimated: bool = Field(default=False, description="Whether they were estimated from text lengths.")

    @property
    def total(self) -> int:
        """All tokens of the call."""
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens


class Reply(Frozen):
    """One answer."""

    model: str = Field(description="Model that answered, as the provider names it.")
    text: str = Field(description="Text of the answer, without thinking.")
    content: tuple[dict[str, Any], ...] = Field(
        default=(), description="All blocks verbatim: thinking and signatures too."
    )
    stop: StopReason = Field(description="Why it ended.")
    usage: Usage = Field(description="What it cost, tokens.")
    request_id: str = Field(default="", description="Id of the request at the provider.")


class ModelFailed(RunFailed):
    """The provider gave no answer: retries are used up, or the account is refused."""


class AnswerCut(ModelFailed):
    """The connection broke after the answer had begun: the provider may charge for what was lost."""


class ChatModel(Protocol):
    """A language model behind any provider.

    Implementations retry what costs nothing to retry (rate limits, overload), raise ModelFailed for the rest, never log
    or return a key, and give a cut answer or a refusal as a Reply that says so.
    """

    name: str
    """`provider:model`, as journal, report and price table name it."""

    async def ask(self, question: Question) -> Reply:
        """Answer one question.

        Raises:
            AnswerCut: the answer broke off on its way; asking again may be charged twice.
            ModelFailed: there is no answer; the message says why, without any key.
        """
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: three bytes each, which is above what tokenisers count for prose and code."""
    return -(-len(text.encode()) // 3)


def prompt_text(question: Question) -> str:
    """Write a question as one text: for models without roles, for hashing, and for a person."""
    parts = [question.system]
    for message in question.messages:
        content = message["content"]
        blocks: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        text = "\n".join(str(block.get("text") or block.get("content") or block.get("input") or "") for block in blocks)
        parts.append(f"[{message['role']}]\n{text}")
    return "\n\n".join(parts)


def without_key(text: str, key: str) -> str:
    """Take a key out of a provider's words, whole or shortened as some providers echo it."""
    if len(key) < 8:
        return text
    for shown in (key, key[:12], key[-8:]):
        text = text.replace(shown, "[key]")
    return text
