"""`--llm`: which language model, and where its key comes from (environment or `keys.toml`; never a command line)."""

import importlib
import importlib.util
import os
import re
import stat
import tomllib
from pathlib import Path
from typing import NamedTuple

from agent2_generator.language.protocol import ChatModel
from agent2_schemas import CorrectableError, PrerequisiteError
from agent2_workspace import configuration_file

DEFAULT_MODEL = "claude-opus-5-5"
"""The one place where the default model stands."""
NO_MODEL = "none"
ONLY_MODEL = "default"
"""Sent where no model is named: OpenAI-compatible servers of one model take any name."""
FORMS = "Write anthropic[:MODEL], messages:URL[:MODEL], openai:URL[:MODEL], command:PROGRAM, replay:FILE or none."
_URL = re.compile(r"(https?://(?:\[[^\]\s]+\]|[^/:@?#\s]+)(?::\d+)?(?:/[^:@?#\s]*)?)(?::([^@\s]+))?")
_EXTRAS = {"anthropic": ("anthropic", "llm"), "messages": ("anthropic", "llm"), "openai": ("openai", "openai")}


class Choice(NamedTuple):
    """A language model as `--llm` names it."""

    provider: str
    """anthropic, messages, openai, command, replay or none."""
    target: str
    """URL, program or file; empty for anthropic and none."""
    model: str
    """Name of the model; empty for command, replay and none."""

    @property
    def text(self) -> str:
        """The choice as it is typed, defaults written out."""
        return ":".join(part for part in self if part)


def parse_choice(text: str) -> Choice:
    """Read `--llm`.

    Raises:
        CorrectableError: the text names no language model.
    """
    provider, _, rest = text.strip().partition(":")
    if provider == "none" and not rest:
        return Choice("none", "", "")
    if provider == "anthropic":
        return Choice("anthropic", "", rest or DEFAULT_MODEL)
    if provider == "replay" and rest:
        return Choice("replay", str(Path(rest).expanduser().resolve()), "")
    if provider == "command" and rest:
        return Choice("command", rest, "")
    match = _URL.fullmatch(rest)
    if provider == "messages" and match:
        return Choice("messages", match[1], match[2] or DEFAULT_MODEL)
    if provider == "openai" and match:
        return Choice("openai", match[1], match[2] or ONLY_MODEL)
    raise CorrectableError(f"{provider!r} with these words names no language model.", FORMS)


def default_choice() -> tuple[Choice, str]:
    """Choose where `--llm` is missing: Anthropic where a key is set, else none; and say why."""
    none = Choice(NO_MODEL, "", "")
    if not find_key("ANTHROPIC_API_KEY"):
        return none, "no ANTHROPIC_API_KEY is set"
    if importlib.util.find_spec("anthropic") is None:
        return none, "ANTHROPIC_API_KEY is set, but the extra is missing: pip install 'agent-squared[llm]'"
    return Choice("anthropic", "", DEFAULT_MODEL), "ANTHROPIC_API_KEY is set"


def connect_model(choice: Choice, *, answered: int = 0) -> ChatModel:
    """Make the model; nothing is sent yet.

    Args:
        choice: which one; not `none`.
        answered: answers that earlier sessions of the project used; a recording goes on after them.

    Raises:
        PrerequisiteError: an extra, a key or a program is missing; the advice says what to type.
        CorrectableError: a recording cannot be read.
    """
    if choice.provider == "command":
        return importlib.import_module("agent2_generator.language.command_model").CommandModel(choice.target)
    if choice.provider == "replay":
        module = importlib.import_module("agent2_generator.language.replay_model")
        return module.ReplayModel(Path(choice.target), skip=answered)
    package, extra = _EXTRAS[choice.provider]
    if importlib.util.find_spec(package) is None:
        raise PrerequisiteError(
            f"--llm {choice.provider} needs the package {package}.", f"Type: pip install 'agent-squared[{extra}]'"
        )
    if choice.provider == "openai":
        key = find_key("OPENAI_API_KEY") or "none"
        module = importlib.import_module("agent2_generator.language.openai_model")
        return module.OpenAICompatibleModel(choice.model, api_key=key, base_url=choice.target)
    module = importlib.import_module("agent2_generator.language.anthropic_model")
    if choice.provider == "messages":
        key = find_key("MESSAGES_API_KEY") or "none"  # never Anthropic's: another server must not see it
        return module.AnthropicModel(
            choice.model, api_key=key, base_url=choice.target, profile=module.OTHER_SERVER, provider="messages"
        )
    key = find_key("ANTHROPIC_API_KEY")
    if not key:
        raise PrerequisiteError(
            "--llm anthropic needs a key.",
            f'Set ANTHROPIC_API_KEY, or write ANTHROPIC_API_KEY = "…" into {keys_file()}; or use --llm none.',
        )
    return module.AnthropicModel(choice.model, api_key=key)


def keys_file() -> Path:
    """The user's file of keys, beside the configuration; servers never read it."""
    return configuration_file().with_name("keys.toml")


def find_key(name: str) -> str:
    """Find a key in the environment, else in `keys.toml`; empty where there is none.

    Raises:
        PrerequisiteError: `keys.toml` does not parse, or others may read it.
    """
    if os.environ.get(name):
        return os.environ[name].strip()
    file = keys_file()
    if not file.exists():
        return ""
    if os.name == "posix" and file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise PrerequisiteError(f"Others may read {file}.", f"Type: chmod 600 {file}")
    try:
        value = tomllib.loads(file.read_text(encoding="utf-8")).get(name, "")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):  # its words could hold a key: they are not passed on
        raise PrerequisiteError(f"{file} cannot be read as TOML.", f'Write lines such as {name} = "…".') from None
    return value.strip() if isinstance(value, str) else ""
