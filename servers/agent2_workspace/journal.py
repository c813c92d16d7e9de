"""The journal of a project: every fact, in order, in SQLite; written before it is used."""

import json
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent2_schemas import Frozen

_SCHEMA = """
CREATE TABLE IF NOT EXISTS event (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    actor TEXT NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    key TEXT UNIQUE,
    payload TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS event_kind ON event (kind, subject);
"""
BUSY_TIMEOUT_SECONDS = 20.0


@dataclass(frozen=True, kw_only=True)
class Event:
    """One fact of the journal."""

    id: int
    at: str
    """UTC time, ISO 8601."""
    actor: str
    """Who wrote it: environment, mdp, training, metrics, generator."""
    kind: str
    """What happened, e.g. `run-started`, `evaluation`, `decision`."""
    subject: str
    """Id of the candidate, run or stage it is about."""
    key: str | None
    """Idempotency key; of two facts with one key only the first is kept."""
    payload: dict[str, Any]
    """The fact as JSON."""


class Journal:
    """Append and read the facts of one project, from any number of processes."""

    def __init__(self, path: Path) -> None:
        """Open the journal; the file is made at the first write."""
        self._path = path

    @contextmanager
    def _connection(self) -> Generator[sqlite3.Connection]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self._path, timeout=BUSY_TIMEOUT_SECONDS)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.executescript(_SCHEMA)
            with connection:
                yield connection
        finally:
            connection.close()

    def append(
        self, actor: str, kind: str, subject: str, payload: dict[str, Any] | Frozen, *, key: str | None = None
    ) -> Event:
        """Write one fact and wait until it is on disk.

        Args:
            actor: who writes it.
            kind: what happened, in kebab-case.
            subject: id of what it is about.
            payload: the fact, JSON-serialisable.
            key: where given, a second fact with this key is not written; the first one is returned.

        Returns:
            The fact as the journal holds it.

        Raises:
            sqlite3.OperationalError: the disk is full, or the journal was locked for 20 s.
        """
        text = payload.model_dump_json() if isinstance(payload, Frozen) else json.dumps(payload)
        at = datetime.now(UTC).isoformat()
        with self._connection() as connection:
            cursor = connection.execute(
                "INSERT OR IGNORE INTO event (at, actor, kind, subject, key, payload) VALUES (?, ?, ?, ?, ?, ?)",
                (at, actor, kind, subject, key, text),
            )
            where, value = ("key = ?", key) if cursor.rowcount == 0 else ("id = ?", cursor.lastrowid)
            row = connection.execute(f"SELECT * FROM event WHERE {where}", (value,)).fetchone()
        return _event(row)

    def events(self, *, kind: str | None = None, subject: str | None = None) -> tuple[Event, ...]:
        """Read facts in order, all or those of one kind or subject."""
        if not self._path.exists():
            return ()
        conditions = {"kind": kind, "subject": subject}
        chosen = {name: value for name, value in conditions.items() if value is not None}
        where = " AND ".join(f"{name} = ?" for name in chosen) or "1"
        with self._connection() as connection:
            rows = connection.execute(f"SELECT * FROM event WHERE {where} ORDER BY id", tuple(chosen.values()))
            return tuple(_event(row) for row in rows)

    def find(self, key: str) -> Event | None:
        """Read the fact with an idempotency key."""
        if not self._path.exists():
            return None
        with self._connection() as connection:
            row = connection.execute("SELECT * FROM event WHERE key = ?", (key,)).fetchone()
        return _event(row) if row else None


def _event(row: tuple[Any, ...]) -> Event:
    identifier, at, actor, kind, subject, key, payload = row
    return Event(id=identifier, at=at, actor=actor, kind=kind, subject=subject, key=key, payload=json.loads(payload))
