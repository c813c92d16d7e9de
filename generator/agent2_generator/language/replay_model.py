"""`replay:FILE`: answers from a recording or from another project's journal, in order; no key, no network."""

import json
import sqlite3
from pathlib import Path

from pydantic import ValidationError

from agent2_generator.language.protocol import ModelFailed, Question, Reply, Usage
from agent2_schemas import CorrectableError
from agent2_workspace import Journal


class ReplayModel:
    """Gives the recorded replies one after another."""

    def __init__(self, path: Path, *, skip: int = 0) -> None:
        """Read the recording: a journal.sqlite, or one JSON object a line, a whole Reply or only {"text": …}.

        Args:
            path: the recording.
            skip: replies that an earlier session of the project used.

        Raises:
            CorrectableError: the file cannot be read or holds something else.
        """
        self.name = f"replay:{path.name}"
        self._next = skip
        try:
            self._replies = [self._read(each) for each in _recorded(path)]
        except (OSError, ValueError, TypeError, LookupError, ValidationError, sqlite3.DatabaseError) as error:
            raise CorrectableError(
                f"{path} is no recording: {error}.", 'Each line is a JSON object with "text".'
            ) from None

    def _read(self, data: dict[str, object]) -> Reply:
        defaults: dict[str, object] = {"model": self.name, "stop": "end", "usage": Usage()}
        return Reply.model_validate(defaults | data)

    async def ask(self, question: Question) -> Reply:
        """Give the next recorded reply; see `ChatModel.ask`."""
        del question
        if self._next >= len(self._replies):
            raise ModelFailed(
                f"{self.name} has {len(self._replies)} answers and this is one question more.",
                "Record more, or choose another --llm.",
            )
        self._next += 1
        return self._replies[self._next - 1]

    async def close(self) -> None:
        """Nothing is kept open."""


def _recorded(path: Path) -> list[dict[str, object]]:
    if path.suffix == ".sqlite":
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {path}")
        return [event.payload["reply"] for event in Journal(path).events(kind="llm-answer")]
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
