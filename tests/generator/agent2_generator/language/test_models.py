"""The contract of a language model, which every one passes; those behind HTTP against a provider on this machine."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from stub_provider import KEY, Act, StubProvider

from agent2_generator.language.anthropic_model import ANTHROPIC, OTHER_SERVER, AnthropicModel
from agent2_generator.language.command_model import CommandModel
from agent2_generator.language.openai_model import OpenAICompatibleModel
from agent2_generator.language.protocol import AnswerCut, ChatModel, ModelFailed, Question
from agent2_generator.language.replay_model import ReplayModel

pytestmark = pytest.mark.anyio
QUESTION = Question(system="You are brief.", messages=({"role": "user", "content": "Say hello."},))
TOOL = {"name": "inspect", "description": "Look.", "input_schema": {"type": "object", "properties": {}}}
Make = Callable[[StubProvider, Path], ChatModel]


def _anthropic(provider: StubProvider, _: Path) -> ChatModel:
    return AnthropicModel("stub-1", api_key=KEY, base_url=provider.url, profile=ANTHROPIC)


def _messages(provider: StubProvider, _: Path) -> ChatModel:
    return AnthropicModel("stub-1", api_key=KEY, base_url=provider.url, profile=OTHER_SERVER, provider="messages")


def _openai(provider: StubProvider, _: Path) -> ChatModel:
    return OpenAICompatibleModel("stub-1", api_key=KEY, base_url=f"{provider.url}/v1")


def _command(_: StubProvider, folder: Path) -> ChatModel:
    program = folder / "program.py"
    program.write_text("import sys; assert 'Say hello.' in sys.stdin.read(); print('hello, at length')")
    return CommandModel(f"{sys.executable} {program}")


def _replay(_: StubProvider, folder: Path) -> ChatModel:
    recording = folder / "recording.jsonl"
    recording.write_text(json.dumps({"text": "hello, at length"}) + "\n")
    return ReplayModel(recording)


OVER_HTTP = pytest.mark.parametrize("make", [_anthropic, _messages, _openai])


@pytest.mark.parametrize("make", [_anthropic, _messages, _openai, _command, _replay])
async def test_an_answer_comes_whole_with_its_usage(make: Make, provider: StubProvider, tmp_path: Path) -> None:
    provider.script = [Act(text="hello, at length")]
    model = make(provider, tmp_path)
    reply = await model.ask(QUESTION)
    await model.close()
    assert (reply.text, reply.stop) == ("hello, at length", "end")
    assert model.name.partition(":")[0] in ("anthropic", "messages", "openai", "command", "replay")
    if provider.requests:
        assert reply.usage.total == 165
        assert (reply.usage.output_tokens, reply.usage.cache_read_tokens) == (40, 20)


@OVER_HTTP
async def test_tools_are_offered_and_asked_for(make: Make, provider: StubProvider, tmp_path: Path) -> None:
    provider.script = [Act("tool"), Act(text="done")]
    model = make(provider, tmp_path)
    reply = await model.ask(QUESTION.model_copy(update={"tools": (TOOL,)}))
    assert reply.stop == "tool_use"
    call = reply.content[0]
    assert (call["name"], call["input"]) == ("inspect", {"name": "x"})
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": "seen"}
    turns = ({"role": "assistant", "content": list(reply.content)}, {"role": "user", "content": [result]})
    later = await model.ask(QUESTION.model_copy(update={"messages": (*QUESTION.messages, *turns), "tools": (TOOL,)}))
    assert later.text == "done"
    assert "seen" in json.dumps(provider.requests[1])
    await model.close()


@OVER_HTTP
@pytest.mark.parametrize("status", [429, 500])
async def test_a_storm_is_waited_out(make: Make, status: int, provider: StubProvider, tmp_path: Path) -> None:
    provider.script = [Act("status", status=status, times=4), Act(text="at last")]
    model = make(provider, tmp_path)
    assert (await model.ask(QUESTION)).text == "at last"
    assert len(provider.requests) == 5
    await model.close()


@OVER_HTTP
async def test_a_storm_without_end_is_said(make: Make, provider: StubProvider, tmp_path: Path) -> None:
    provider.script = [Act("status", "slow down", 429, times=100)]
    model = make(provider, tmp_path)
    with pytest.raises(ModelFailed, match="429") as caught:
        await model.ask(QUESTION)
    assert not isinstance(caught.value, AnswerCut)
    assert len(provider.requests) == 6
    await model.close()


@OVER_HTTP
async def test_a_stream_that_breaks_off_is_no_answer(make: Make, provider: StubProvider, tmp_path: Path) -> None:
    provider.script = [Act("cut", "half of the answer", times=9)]
    model = make(provider, tmp_path)
    with pytest.raises(AnswerCut, match="broke off"):
        await model.ask(QUESTION)
    assert len(provider.requests) == 1, "the ledger decides whether to pay again"
    await model.close()


@OVER_HTTP
async def test_garbage_is_no_answer(make: Make, provider: StubProvider, tmp_path: Path) -> None:
    provider.script = [Act("garbage", times=9)]
    model = make(provider, tmp_path)
    with pytest.raises(ModelFailed):
        await model.ask(QUESTION)
    await model.close()


@OVER_HTTP
@pytest.mark.parametrize(("kind", "stop"), [("refusal", "refusal"), ("length", "length")])
async def test_refusals_and_cut_answers_say_so(
    make: Make, kind: str, stop: str, provider: StubProvider, tmp_path: Path
) -> None:
    provider.script = [Act(kind, "I would rather not")]  # pyright: ignore[reportArgumentType]  # both are kinds
    model = make(provider, tmp_path)
    reply = await model.ask(QUESTION)
    assert (reply.stop, reply.text) == (stop, "I would rather not")
    await model.close()


@OVER_HTTP
async def test_no_error_holds_the_key(make: Make, provider: StubProvider, tmp_path: Path) -> None:
    provider.script = [Act("status", f"the key {KEY} is not valid", 401)]
    model = make(provider, tmp_path)
    with pytest.raises(ModelFailed, match="401") as caught:
        await model.ask(QUESTION)
    assert KEY not in f"{caught.value!s} {caught.value!r} {caught.value.advice}"
    assert KEY in json.dumps(provider.headers), "it went to the provider, and only there"
    await model.close()


@OVER_HTTP
async def test_a_provider_that_is_not_there_is_said(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent2_generator.language.anthropic_model.MAX_RETRIES", 0)
    monkeypatch.setattr("agent2_generator.language.openai_model.MAX_RETRIES", 0)
    model = make(StubProvider(url="http://127.0.0.1:9"), tmp_path)
    with pytest.raises(ModelFailed, match="cannot be reached"):
        await model.ask(QUESTION)
    await model.close()


async def test_only_anthropic_is_asked_to_cache(provider: StubProvider, tmp_path: Path) -> None:
    provider.script = [Act(text="a"), Act(text="b")]
    for make in (_anthropic, _messages):
        model = make(provider, tmp_path)
        await model.ask(QUESTION)
        await model.close()
    assert ["cache_control" in json.dumps(request) for request in provider.requests] == [True, False]


async def test_another_server_never_sees_anthropics_token(
    provider: StubProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-secret")
    provider.script = [Act(text="a")]
    model = _messages(provider, tmp_path)
    await model.ask(QUESTION)
    await model.close()
    assert "secret" not in json.dumps(provider.headers)


async def test_a_program_that_fails_hangs_or_floods_is_said(tmp_path: Path) -> None:
    def program(text: str) -> str:
        (tmp_path / "p.py").write_text(text)
        return f"{sys.executable} {tmp_path / 'p.py'}"

    with pytest.raises(ModelFailed, match="exit code 3: broken"):
        await CommandModel(program("import sys; print('broken', file=sys.stderr); sys.exit(3)")).ask(QUESTION)
    with pytest.raises(ModelFailed, match="no answer within"):
        await CommandModel(program("import threading; threading.Event().wait()"), timeout_seconds=0.5).ask(QUESTION)
    reply = await CommandModel(program("print('x' * (2 ** 20 + 5))")).ask(QUESTION)
    assert reply.stop == "length"


async def test_a_recording_that_ends_is_said(tmp_path: Path) -> None:
    model = _replay(StubProvider(), tmp_path)
    await model.ask(QUESTION)
    with pytest.raises(ModelFailed, match="one question more"):
        await model.ask(QUESTION)
