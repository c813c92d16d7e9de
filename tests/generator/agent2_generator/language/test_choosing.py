"""`--llm` is read as a person means it; keys come from environment or keys.toml only; prices are never guessed."""

import os
from pathlib import Path

import pytest

from agent2_generator.language.choosing import connect_model, default_choice, find_key, keys_file, parse_choice
from agent2_generator.language.prices import PRICES, price_usd, read_prices
from agent2_generator.language.protocol import Usage
from agent2_schemas import CorrectableError, PrerequisiteError


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("none", ("none", "", "")),
        ("anthropic", ("anthropic", "", "claude-opus-5-5")),
        ("anthropic:claude-sonnet-5-5", ("anthropic", "", "claude-sonnet-5-5")),
        ("messages:http://localhost:11434:llama3:8b", ("messages", "http://localhost:11434", "llama3:8b")),
        ("messages:http://127.0.0.1:80/a/b", ("messages", "http://127.0.0.1:80/a/b", "claude-opus-5-5")),
        ("openai:https://router.example/api/v1:meta/llama", ("openai", "https://router.example/api/v1", "meta/llama")),
        ("openai:http://[::1]:8000/v1", ("openai", "http://[::1]:8000/v1", "default")),
        ("command:/bin/cat -u", ("command", "/bin/cat -u", "")),
        ("replay:/tmp/answers.jsonl", ("replay", "/tmp/answers.jsonl", "")),
    ],
)
def test_every_form_is_read_and_written_again(text: str, choice: tuple[str, str, str]) -> None:
    read = parse_choice(text)
    assert tuple(read) == choice
    assert parse_choice(read.text) == read


@pytest.mark.parametrize(
    "text",
    ["", "claude", "messages", "messages:localhost", "openai:ftp://x", "command:", "replay:", "none:x",
     "messages:http://user:secret@host/v1", "openai:https://host/v1?key=secret"],
)  # fmt: skip
def test_what_names_no_model_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(CorrectableError) as caught:
        parse_choice(text)
    assert "secret" not in str(caught.value)


def test_the_default_is_anthropic_only_where_a_key_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_choice()[0].provider == "none"
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-1")
    assert default_choice()[0].text == "anthropic:claude-opus-5-5"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)  # pyright: ignore[reportUnknownLambdaType]
    choice, why = default_choice()
    assert choice.provider == "none"
    assert "agent-squared[llm]" in why


def test_a_missing_key_or_extra_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PrerequisiteError, match=r"keys\.toml"):
        connect_model(parse_choice("anthropic"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)  # pyright: ignore[reportUnknownLambdaType]
    with pytest.raises(PrerequisiteError, match=r"pip install 'agent-squared\[llm\]'"):
        connect_model(parse_choice("anthropic"))
    with pytest.raises(PrerequisiteError, match=r"pip install 'agent-squared\[openai\]'"):
        connect_model(parse_choice("openai:http://localhost:1/v1"))


def test_a_key_is_read_from_a_file_that_only_its_owner_may_read() -> None:
    file = keys_file()
    file.write_text('ANTHROPIC_API_KEY = "sk-ant-from-file"\n')
    file.chmod(0o644)
    if os.name == "posix":
        with pytest.raises(PrerequisiteError, match="chmod 600"):
            find_key("ANTHROPIC_API_KEY")
    file.chmod(0o600)
    assert find_key("ANTHROPIC_API_KEY") == "sk-ant-from-file"
    assert find_key("OPENAI_API_KEY") == ""
    file.write_text('ANTHROPIC_API_KEY = "sk-ant-broken')
    with pytest.raises(PrerequisiteError) as caught:
        find_key("ANTHROPIC_API_KEY")
    assert "sk-ant" not in str(caught.value)


def test_an_unknown_model_costs_unknown_and_never_zero(tmp_path: Path) -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=1_000_000)
    assert price_usd("anthropic:no-such-model", usage, PRICES) is None
    assert price_usd("openai:anything", Usage(), PRICES) is None
    assert price_usd("anthropic:claude-opus-5-5", usage, PRICES) == 24
    assert price_usd("command:program", usage, PRICES) == 0
    own = tmp_path / "prices.toml"
    own.write_text('["openai:mine"]\ninput = 0.5\noutput = 1.5\n')
    assert price_usd("openai:mine", usage, read_prices(own)) == 2
    own.write_text('["openai:mine"]\ninput = "cheap"\n')
    with pytest.raises(PrerequisiteError, match="no price table"):
        read_prices(own)
