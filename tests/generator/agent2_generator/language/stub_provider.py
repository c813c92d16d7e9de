"""A provider for the tests: real HTTP on this machine, Messages API and chat completions, streams and their accidents."""

import json
import threading
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

KEY = "sk-test-0123456789abcdef"
Kind = Literal["answer", "tool", "refusal", "length", "cut", "garbage", "status"]


@dataclass(frozen=True)
class Act:
    """What the provider does with one request."""

    kind: Kind = "answer"
    text: str = ""
    status: int = 200
    times: int = 1
    """How many requests it holds for."""


Script = list[Act] | Callable[[str], Act]


@dataclass
class StubProvider:
    """Plays a script, one act a request; keeps every request."""

    script: Script = field(default_factory=list[Act])
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    url: str = ""
    _played: int = 0

    def questions(self) -> list[str]:
        """The last user turn of every request."""
        return [_flat(request["messages"][-1]["content"]) for request in self.requests]

    def next_act(self, question: str) -> Act:
        """The act of the next request."""
        if callable(self.script):
            return self.script(question)
        index = self._played
        self._played += 1
        for act in self.script:
            index -= act.times
            if index < 0:
                return act
        return Act("status", "the script has ended", 400)

    async def messages(self, request: Request) -> Response:
        """`POST /v1/messages`."""
        act = await self._receive(request)
        if act.kind in ("status", "garbage"):
            return _plain(act)
        return StreamingResponse(_messages_events(act), media_type="text/event-stream")

    async def chat(self, request: Request) -> Response:
        """`POST /v1/chat/completions`."""
        act = await self._receive(request)
        if act.kind in ("status", "garbage"):
            return _plain(act)
        return StreamingResponse(_chat_events(act), media_type="text/event-stream")

    async def _receive(self, request: Request) -> Act:
        body = await request.json()
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        return self.next_act(_flat(body["messages"][-1]["content"]))


def _flat(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(str(block.get("text", "")) for block in content)


def _plain(act: Act) -> Response:
    if act.kind == "garbage":
        return PlainTextResponse(act.text or "<html>not an API</html>")
    error = {"type": "error", "error": {"type": "test_error", "message": act.text or f"status {act.status}"}}
    return JSONResponse(error, status_code=act.status, headers={"retry-after-ms": "1"})


async def _messages_events(act: Act) -> AsyncGenerator[str]:
    def event(kind: str, **data: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n"

    usage = {"input_tokens": 100, "output_tokens": 1, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 5}
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "stub-1", "content": [], "stop_reason": None,
        "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    yield event("message_start", message=message)
    if act.kind == "tool":
        block = {"type": "tool_use", "id": "toolu_1", "name": "inspect", "input": {}}
        yield event("content_block_start", index=0, content_block=block)
        yield event("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": '{"name": '})
        yield event("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": '"x"}'})
    else:
        yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        half = len(act.text) // 2
        yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": act.text[:half]})
        if act.kind == "cut":
            raise ConnectionResetError("the server dies in mid-stream")
        yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": act.text[half:]})
    yield event("content_block_stop", index=0)
    stop = {"tool": "tool_use", "refusal": "refusal", "length": "max_tokens"}.get(act.kind, "end_turn")
    yield event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage={"output_tokens": 40})
    yield event("message_stop")


async def _chat_events(act: Act) -> AsyncGenerator[str]:
    def event(delta: dict[str, Any], finish: str | None = None, **more: Any) -> str:
        choices = [] if more else [{"index": 0, "delta": delta, "finish_reason": finish}]
        chunk = {"id": "chat_1", "object": "chat.completion.chunk", "created": 1, "model": "stub-1", "choices": choices}
        return f"data: {json.dumps(chunk | more)}\n\n"

    if act.kind == "tool":
        call = {
            "index": 0,
            "id": "call_1",
            "type": "function",
            "function": {"name": "inspect", "arguments": '{"name": '},
        }
        yield event({"role": "assistant", "tool_calls": [call]})
        yield event({"tool_calls": [{"index": 0, "function": {"arguments": '"x"}'}}]})
    elif act.kind == "refusal":
        yield event({"role": "assistant", "refusal": act.text})
    else:
        half = len(act.text) // 2
        yield event({"role": "assistant", "content": act.text[:half]})
        if act.kind == "cut":
            raise ConnectionResetError("the server dies in mid-stream")
        yield event({"content": act.text[half:]})
    yield event({}, {"tool": "tool_calls", "length": "length"}.get(act.kind, "stop"))
    usage = {
        "prompt_tokens": 125, "completion_tokens": 40, "total_tokens": 165, "prompt_tokens_details": {"cached_tokens": 20}
    }  # fmt: skip
    yield event({}, usage=usage)
    yield "data: [DONE]\n\n"


class Served:
    """A provider that listens on a free port of this machine until it is stopped."""

    def __init__(self, provider: StubProvider) -> None:
        routes = [
            Route("/v1/messages", provider.messages, methods=["POST"]),
            Route("/v1/chat/completions", provider.chat, methods=["POST"]),
        ]
        config = uvicorn.Config(
            Starlette(routes=routes), host="127.0.0.1", port=0, log_level="critical", lifespan="off"
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._provider = provider

    def __enter__(self) -> StubProvider:
        """Listen."""
        self._thread.start()
        pause = threading.Event()
        for _ in range(1000):
            if self._server.started:
                break
            pause.wait(0.01)
        assert self._server.started
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self._provider.url = f"http://127.0.0.1:{port}"
        return self._provider

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._server.should_exit = True
        self._thread.join(timeout=10)
