"""The journal keeps every fact in order, once per key, whoever writes."""

import subprocess
import sys
from pathlib import Path

from agent2_workspace import Journal

WRITER = """
import sys, pathlib
from agent2_workspace import Journal
for number in range(20):
    Journal(pathlib.Path(sys.argv[1])).append(sys.argv[2], "fact", "subject", {"number": number}, key=f"shared-{number}")
"""


def test_facts_come_back_in_order_and_by_kind_and_subject(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.sqlite")
    journal.append("training", "run-started", "r1", {"a": 1})
    journal.append("training", "run-ended", "r1", {"b": 2})
    journal.append("training", "run-started", "r2", {"c": 3})
    assert [event.payload for event in journal.events()] == [{"a": 1}, {"b": 2}, {"c": 3}]
    assert [event.subject for event in journal.events(kind="run-started")] == ["r1", "r2"]
    assert [event.kind for event in journal.events(subject="r1")] == ["run-started", "run-ended"]


def test_of_two_facts_with_one_key_the_first_is_kept_and_given_back(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.sqlite")
    first = journal.append("a", "k", "s", {"value": 1}, key="once")
    second = journal.append("b", "k", "s", {"value": 2}, key="once")
    assert second == first
    assert journal.find("once") == first
    assert len(journal.events()) == 1


def test_an_empty_journal_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    assert Journal(path).events() == ()
    assert Journal(path).find("none") is None
    assert not path.exists()


def test_several_processes_write_without_losing_or_doubling_a_fact(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), f"actor{n}"]) for n in range(3)]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0, 0]
    events = Journal(path).events()
    assert [event.key for event in sorted(events, key=lambda e: e.payload["number"])] == [
        f"shared-{n}" for n in range(20)
    ]
