"""Kill `agent2 build` at random moments of a scripted project, resume it, and compare it with one that was never killed.

python benchmarks/kill_resume.py [--kills 50] [--seed 0] [--workspace FOLDER]

A program answers from files (examples/answer_from_files.py), so every build is asked and answered alike. Each project is
killed by SIGKILL at a moment drawn between its start and its usual end, resumed and killed again, until it ends; then its
answers and designs must equal those of the reference, and no call may be repeated without the mark `possibly paid`.
Not compared yet: scores, decisions and finished runs, because every project draws secret seeds of its own. One row a kill
is appended to results/kill_resume.csv once its project has ended; rows there are not repeated. The last line is the summary.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent2_workspace import Journal, Workspace

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "kill_resume.csv"
EXAMPLES = HERE.parent / "examples"
COLUMNS = (
    "date", "machine", "seed", "project", "kill", "after_seconds", "stage", "possibly_paid", "repeated_unmarked", "differences",
)  # fmt: skip
OPTIONS = ("--algorithm", "PPO", "--run-length", "1k-steps", "--budget", "7k-steps", "--json")
COMPARED = ("answers", "designs")
"""Facts that do not depend on a project's seeds."""
END_SECONDS = 900.0
"""A project that is not killed must have ended by then."""


def main() -> int:
    """Kill until the table has enough rows; the exit code is 1 where a project differed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workspace", type=Path, default=None)
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    folder = arguments.workspace or Path(tempfile.mkdtemp(prefix="agent2-kills-"))
    place, rows = Workspace(folder.resolve()), _rows(arguments.results)
    started = time.monotonic()
    _run(place, "build", "reference", None)
    usual_seconds, reference = time.monotonic() - started, facts_of(place, "reference")
    print(
        f"reference: {usual_seconds:.0f} s, {len(reference['answers'])} answers, {len(reference['runs'])} runs",
        flush=True,
    )
    while len(rows) < arguments.kills:
        new = _killed_project(place, reference, usual_seconds, arguments.seed, len(rows), arguments.kills - len(rows))
        _append(arguments.results, new)
        rows = _rows(arguments.results)
        print(f"{len(rows)} kills; {new[0]['project']}: {new[0]['differences'] or 'equal'}", flush=True)
    differing = {row["project"] for row in rows if row["differences"]}
    unmarked = sum(int(row["repeated_unmarked"]) for row in rows)
    print(
        f"{len(rows)} kills in {len({r['project'] for r in rows})} projects: {len(differing)} projects differ, {unmarked} calls repeated without a mark"
    )
    return 1 if differing or unmarked else 0


def _killed_project(
    place: Workspace, reference: dict[str, Any], usual_seconds: float, seed: int, first: int, most: int
) -> list[dict[str, Any]]:
    """Kill one project at most `most` times until it ends by itself; give a row a kill."""
    name, draw = f"killed-{seed}-{first}", random.Random(f"{seed}-{first}")
    rows: list[dict[str, Any]] = []
    verb = "build"
    while True:
        after = draw.uniform(1.0, usual_seconds) if len(rows) < most else None
        if _run(place, verb, name, after):
            break
        verb = (
            "resume"
            if (place.root / "projects" / name / "journal.sqlite").exists()
            and _journal(place, name).events(kind="options")
            else "build"
        )
        rows.append({"after_seconds": f"{after:.2f}", "stage": _stage(place, name)})
    if not rows:
        return _killed_project(place, reference, usual_seconds, seed, first + 1000, most)
    found, calls = facts_of(place, name), repeated_calls(place, name)
    differences = "; ".join(describe_differences(reference, found))
    for number, row in enumerate(rows):
        row.update(
            date=datetime.now(UTC).date().isoformat(), machine=f"{platform.machine()}, {os.cpu_count()} cores", seed=seed,
            project=name, kill=number + 1, possibly_paid=calls[0], repeated_unmarked=calls[1], differences=differences,
        )  # fmt: skip
    return rows


def _run(place: Workspace, verb: str, name: str, kill_after_seconds: float | None) -> bool:
    """Build or resume; true where it ended by itself, false where it was killed.

    Raises:
        RuntimeError: it failed, or ended without a result.
    """
    answering = f"{sys.executable} {EXAMPLES / 'answer_from_files.py'} {EXAMPLES / 'cartpole-answers'}"
    what = ("build", "CartPole-v1", *OPTIONS, "--llm", f"command:{answering}", "--name", name)
    if verb == "resume":
        what = ("resume", name, "--json")
    place.root.mkdir(parents=True, exist_ok=True)
    with (place.root / f"{name}.log").open("a") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "agent2_generator", *what, "--workspace", str(place.root)],
            stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True,
        )  # fmt: skip
        try:
            shown, _ = process.communicate(timeout=kill_after_seconds or END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            if kill_after_seconds is None:
                raise RuntimeError(f"{name} did not end within {END_SECONDS:g} s; see {place.root}.") from None
            return False
    result = json.loads(shown.strip().splitlines()[-1])
    if result["state"] != "delivered":
        raise RuntimeError(f"{name}: {result['message']}")
    return True


def facts_of(place: Workspace, name: str) -> dict[str, Any]:
    """What must be equal: answers, designs and decisions, finished runs, scores; ids, times and forecasts left out."""
    journal = _journal(place, name)
    attempts: dict[str, Any] = {event.subject: event.payload for event in journal.events(kind="attempt")}
    labels: dict[str, str] = {subject: each["change"] for subject, each in attempts.items()}
    project = place.project(name)
    runs = Counter[str]()
    for run_id in project.run_ids():
        run = project.run(run_id)
        specification = run.read_specification()
        if json.loads(run.status_file.read_text())["state"] == "finished":
            label = labels.get(specification.candidate_id, specification.candidate_id)
            runs[
                f"{label}, seed {specification.seed_index}, {specification.purpose}, {specification.budget_env_steps}"
            ] += 1
    result = journal.events(kind="result")[-1].payload
    return {
        "answers": {e.payload["key"]: e.payload["reply"]["text"] for e in journal.events(kind="llm-answer")},
        "designs": {labels[s]: (labels.get(each["parent_id"]), each["reason"]) for s, each in attempts.items()},
        "decisions": {labels[s]: each["decision"] for s, each in attempts.items()},
        "scores": {labels[s]: each["scores"] for s, each in attempts.items()},
        "runs": dict(runs),
        "delivered": (result["algorithm"], result["score"], result["verdict"]),
    }


def describe_differences(reference: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Name what differs, empty where nothing does."""
    texts: list[str] = []
    for kind in COMPARED:
        expected = reference[kind]
        names = sorted(key for key in {*expected, *found[kind]} if expected.get(key) != found[kind].get(key))
        texts += [f"{kind} of {key}: {expected.get(key)!r} became {found[kind].get(key)!r}"[:300] for key in names]
    return texts


def repeated_calls(place: Workspace, name: str) -> tuple[int, int]:
    """Count the calls marked `possibly paid`, and those repeated without a mark."""
    journal = _journal(place, name)
    calls = Counter(event.payload["key"] for event in journal.events(kind="llm-call"))
    lost = Counter(event.payload["key"] for event in journal.events(kind="llm-possibly-paid"))
    return sum(lost.values()), sum(max(0, count - 1 - lost[key]) for key, count in calls.items())


def _stage(place: Workspace, name: str) -> str:
    if not (place.root / "projects" / name / "journal.sqlite").exists():
        return "start"
    events = [e for e in _journal(place, name).events() if e.kind != "clock"]
    return f"after {events[-1].kind}" if events else "start"


def _journal(place: Workspace, name: str) -> Journal:
    return Journal(place.root / "projects" / name / "journal.sqlite")


def _rows(file: Path) -> list[dict[str, str]]:
    if not file.exists():
        return []
    with file.open(newline="") as stream:
        return list(csv.DictReader(stream))


def _append(file: Path, rows: list[dict[str, Any]]) -> None:
    is_new = not file.exists()
    with file.open("a", newline="") as stream:
        writer: csv.DictWriter[str] = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    sys.exit(main())
