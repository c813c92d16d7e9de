"""Anthropic, and any server that speaks its Messages API (extra `llm`)."""

from typing import Any, cast

import anthropic
import httpx2
from anthropic import AsyncAnthropic
from anthropic.types import Message
from pydantic import Field, ValidationError

from agent2_generator.language.protocol import (
    AnswerCut,
    ModelFailed,
    Question,
    Reply,
    StopReason,
    Usage,
    without_key,
)
from agent2_schemas import Frozen

MAX_RETRIES = 5
"""Retries of the SDK on rate limits, overload, server errors and refused connections, with its back-off."""
_STOPS: dict[str | None, StopReason] = {
    "end_turn": "end", "stop_sequence": "end", "pause_turn": "end", "max_tokens": "length",
    "model_context_window_exceeded": "length", "refusal": "refusal", "tool_use": "tool_use",
}  # fmt: skip
_ADVICE = {
    401: "Set a valid key: see docs/language-models.md.",
    402: "The account has no credit left.",
    403: "The account may not use this model.",
    404: "The provider does not know this model; choose another with --llm.",
    429: "The provider's rate limit held through all retries; wait, then resume.",
}


class Profile(Frozen):
    """What a Messages-API server understands beyond plain text and tools."""

    has_prompt_cache: bool = Field(description="Whether it takes `cache_control`.")


ANTHROPIC = Profile(has_prompt_cache=True)
OTHER_SERVER = Profile(has_prompt_cache=False)
"""Ollama, vLLM, llama.cpp: their endpoints are subsets, so nothing optional is sent."""


class AnthropicModel:
    """Streams answers, so that long ones do not time out."""

    def __init__(
        self,
        model: str,
        *,
        api_key: str,
        base_url: str | None = None,
        profile: Profile = ANTHROPIC,
        provider: str = "anthropic",
    ) -> None:
        """Connect lazily.

        Args:
            model: name of the model.
            api_key: key of the account; a placeholder for local servers.
            base_url: address of another Messages-API server.
            profile: what the server understands.
            provider: first half of the name.
        """
        self.name = f"{provider}:{model}"
        self._model = model
        self._key = api_key
        self._profile = profile
        self._client = AsyncAnthropic(api_key=api_key, base_url=base_url, max_retries=MAX_RETRIES)

    async def ask(self, question: Question) -> Reply:
        """Answer one question; see `ChatModel.ask`."""
        try:
            return self._reply(await self._stream(question))
        except anthropic.APIStatusError as error:
            raise ModelFailed(*self._explain(error)) from None
        except anthropic.APIConnectionError as error:
            raise ModelFailed(
                f"{self.name} cannot be reached: {type(error).__name__}.", "Check network and address, then resume."
            ) from None
        except httpx2.HTTPError as error:
            raise AnswerCut(f"{self.name} broke off its answer: {type(error).__name__}.", "Resume later.") from None
        except (
            anthropic.APIError,
            ValidationError,
            ValueError,
            LookupError,
            AttributeError,
            TypeError,
            AssertionError,
        ) as error:
            raise AnswerCut(  # the SDK trips over streams that end early or hold no events
                f"{self.name} sent what is no Messages-API answer: {without_key(str(error), self._key)[:200]}.",
                "Check that the address serves /v1/messages.",
            ) from None

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _stream(self, question: Question) -> Message:
        options: dict[str, Any] = {}
        system: dict[str, Any] = {"type": "text", "text": question.system}
        if self._profile.has_prompt_cache:
            system["cache_control"] = {"type": "ephemeral"}
        if question.tools:
            options["tools"] = list(question.tools)
        async with self._client.messages.stream(
            model=self._model,
            max_tokens=question.max_output_tokens,
            system=cast("Any", [system]),
            messages=cast("Any", list(question.messages)),
            **options,
        ) as stream:
            message = await stream.get_final_message()
        if message.stop_reason is None:
            raise ValueError("the stream ended before the answer did")
        return message

    def _reply(self, message: Message) -> Reply:
        usage = message.usage
        return Reply(
            model=message.model,
            text="".join(block.text for block in message.content if block.type == "text"),
            content=tuple(block.model_dump(mode="json", exclude_none=True) for block in message.content),
            stop=_STOPS.get(message.stop_reason, "end"),
            usage=Usage(
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cache_read_tokens=usage.cache_read_input_tokens or 0,
                cache_write_tokens=usage.cache_creation_input_tokens or 0,
            ),
            request_id=message.id,
        )

    def _explain(self, error: anthropic.APIStatusError) -> tuple[str, str]:
        """Say what the provider answered, without headers: they hold the key."""
        body: Any = error.body
        detail: Any = cast("dict[str, Any]", body).get("error") if isinstance(body, dict) else ""
        said: Any = cast("dict[str, Any]", detail).get("message", "") if isinstance(detail, dict) else detail
        text = without_key(str(said or ""), self._key)[:300] or type(error).__name__
        advice = _ADVICE.get(error.status_code, "Resume later; answered calls are not repeated.")
        return f"{self.name} answered {error.status_code}: {text}.", advice
