"""OpenAI-compatible servers (extra `openai`): streamed chat completions with text and tools."""

import json
from typing import Any, cast

import httpx2
import openai

from agent2_generator.language.protocol import (
    AnswerCut,
    ModelFailed,
    Question,
    Reply,
    StopReason,
    Usage,
    without_key,
)

MAX_RETRIES = 5
"""Retries of the SDK on rate limits, overload, server errors and refused connections, with its back-off."""
_STOPS: dict[str | None, StopReason] = {
    "stop": "end", "length": "length", "content_filter": "refusal", "tool_calls": "tool_use",
}  # fmt: skip


class OpenAICompatibleModel:
    """Translates the Messages block format to chat completions and back."""

    def __init__(self, model: str, *, api_key: str, base_url: str | None) -> None:
        """Connect lazily; `base_url` is the address of the server's `/v1`."""
        self.name = f"openai:{model}"
        self._model = model
        self._key = api_key
        self._client = openai.AsyncOpenAI(api_key=api_key, base_url=base_url, max_retries=MAX_RETRIES)

    async def ask(self, question: Question) -> Reply:
        """Answer one question; see `ChatModel.ask`."""
        try:
            return await self._stream(question)
        except openai.APIStatusError as error:
            text = without_key(error.message, self._key)[:300]
            raise ModelFailed(
                f"{self.name} answered {error.status_code}: {text}.", "Check model, key and address, then resume."
            ) from None
        except openai.APIConnectionError as error:
            raise ModelFailed(
                f"{self.name} cannot be reached: {type(error).__name__}.", "Check the address, then resume."
            ) from None
        except (openai.APIError, ValueError, LookupError, AttributeError, TypeError) as error:
            raise AnswerCut(
                f"{self.name} sent what is no chat completion: {without_key(str(error), self._key)[:200]}.",
                "Check that the address serves /chat/completions.",
            ) from None

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _stream(self, question: Question) -> Reply:
        options: dict[str, Any] = {}
        if question.tools:
            options["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool["name"],
                        "description": tool.get("description", ""),
                        "parameters": tool["input_schema"],
                    },
                }
                for tool in question.tools
            ]
        messages: list[dict[str, Any]] = [{"role": "system", "content": question.system}]
        for message in question.messages:
            messages += _translated(message)
        stream: Any = await self._client.chat.completions.create(
            model=self._model,
            messages=cast("Any", messages),
            max_completion_tokens=question.max_output_tokens,
            stream=True,
            stream_options={"include_usage": True},
            **options,
        )
        answer = _Collected(self._model)
        try:
            async with stream:
                async for chunk in stream:
                    answer.add(chunk.model_dump(mode="json"))
        except (openai.APIConnectionError, httpx2.HTTPError) as error:
            raise AnswerCut(f"{self.name} broke off its answer: {type(error).__name__}.", "Resume later.") from None
        return answer.reply()


class _Collected:
    """A streamed answer as it grows."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._id: str = ""
        self._text: str = ""
        self._refusal: str = ""
        self._finish: str | None = None
        self._calls: dict[int, dict[str, str]] = {}
        self._usage: dict[str, Any] = {}

    def add(self, chunk: dict[str, Any]) -> None:
        """Take in one chunk."""
        self._id = chunk.get("id") or self._id
        self._model = chunk.get("model") or self._model
        self._usage = chunk.get("usage") or self._usage
        choices: list[dict[str, Any]] = chunk.get("choices") or []
        for choice in choices:
            delta: dict[str, Any] = choice.get("delta") or {}
            self._text += str(delta.get("content") or "")
            self._refusal += str(delta.get("refusal") or "")
            self._finish = choice.get("finish_reason") or self._finish
            parts: list[dict[str, Any]] = delta.get("tool_calls") or []
            for part in parts:
                self._add_call(part)

    def _add_call(self, part: dict[str, Any]) -> None:
        function: dict[str, Any] = part.get("function") or {}
        call = self._calls.setdefault(part["index"], {"id": "", "name": "", "arguments": ""})
        call["id"] = str(part.get("id") or call["id"])
        call["name"] += str(function.get("name") or "")
        call["arguments"] += str(function.get("arguments") or "")

    def reply(self) -> Reply:
        """Give the whole answer.

        Raises:
            ValueError: the stream ended before the answer did.
        """
        if self._finish is None:
            raise ValueError("the stream ended before the answer did")
        content: list[dict[str, Any]] = [{"type": "text", "text": self._text}] if self._text else []
        for call in self._calls.values():
            arguments = json.loads(call["arguments"] or "{}")
            content.append({"type": "tool_use", "id": call["id"], "name": call["name"], "input": arguments})
        details: dict[str, Any] = self._usage.get("prompt_tokens_details") or {}
        cached: int = details.get("cached_tokens") or 0
        return Reply(
            model=self._model,
            text=self._text or self._refusal,
            content=tuple(content),
            stop="refusal" if self._refusal else _STOPS.get(self._finish, "end"),
            usage=Usage(
                input_tokens=max(0, int(self._usage.get("prompt_tokens", 0)) - cached),
                output_tokens=self._usage.get("completion_tokens", 0),
                cache_read_tokens=cached,
            ),
            request_id=self._id,
        )


def _translated(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Turn one message of blocks into chat messages."""
    if isinstance(message["content"], str):
        return [{"role": message["role"], "content": message["content"]}]
    blocks: list[dict[str, Any]] = list(message["content"])
    texts = [str(block["text"]) for block in blocks if block["type"] == "text"]
    calls = [
        {
            "id": block["id"],
            "type": "function",
            "function": {"name": block["name"], "arguments": json.dumps(block["input"])},
        }
        for block in blocks
        if block["type"] == "tool_use"
    ]
    results = [
        {"role": "tool", "tool_call_id": block["tool_use_id"], "content": _flat(block["content"])}
        for block in blocks
        if block["type"] == "tool_result"
    ]
    own: dict[str, Any] = {"role": message["role"], "content": "\n".join(texts)}
    if calls:
        own["tool_calls"] = calls
    return results + ([own] if texts or calls else [])


def _flat(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(str(block.get("text", "")) for block in content)
