"""Inspect every faulty example and every healthy environment, time each, and keep one row each in results/inspection.csv.

    python benchmarks/inspection.py [NAME …]       # all, or these; a row that is there is kept
    python benchmarks/inspection.py --again        # measure them anew
    python benchmarks/inspection.py --table        # print both tables of docs/inspection.md

It calls the environment server as any client does; seconds are wall time from the first call to the finished answer.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import os
import re
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import gymnasium
from mcp import Client

from agent2_environment.server import build_server

RESULTS = Path(__file__).parent / "results" / "inspection.csv"
CASES = Path(__file__).parents[1] / "tests" / "cases" / "environments"
CODE = re.compile(r"\[([a-z][a-z-]+)\]")
COLUMNS = ("environment", "kind", "state", "errors", "warnings", "notes", "adapted", "seconds", "date")
PARALLEL = ("all_key", "new_space_each_call")
FAMILIES = ("classic_control", "toy_text", "box2d", "mujoco")
MPE = (
    "simple_v3", "simple_spread_v3", "simple_tag_v3", "simple_adversary_v3", "simple_push_v3", "simple_crypto_v3",
    "simple_reference_v3", "simple_speaker_listener_v4", "simple_formation_v1", "simple_line_v1",
    "simple_world_comm_v3", "collect_treasure_v1",
)  # fmt: skip
BATTLES = ("skirmish:3v3", "skirmish:8v8")


def environments() -> dict[str, str]:
    """By what to call it in the table: the reference to inspect; faulty files end in `.py`."""
    found = {
        path.name: f"{path}:{'parallel_env' if path.stem in PARALLEL else 'Environment'}"
        for path in sorted(CASES.glob("*.py"))
    }
    for family in FAMILIES:
        ids = sorted(
            spec.id
            for spec in gymnasium.registry.values()
            if isinstance(spec.entry_point, str)
            and spec.entry_point.startswith(f"gymnasium.envs.{family}")
            and (family != "mujoco" or spec.id.endswith("-v5"))
        )
        found |= {name: name for name in ids}
    return found | {f"mpe2.{name}": f"mpe2.{name}" for name in MPE} | {name: name for name in BATTLES}


async def inspect(client: Client, label: str, reference: str) -> dict[str, Any]:
    """Inspect one environment to the end.

    Returns:
        A row of the table. A refusal to build it is an error too; its code stands in brackets in the message.
    """
    begun = time.perf_counter()
    while True:
        answer = await client.call_tool("inspect_environment", {"environment": reference, "detail": "full"})
        content: dict[str, Any] = answer.structured_content or {}
        if answer.is_error or content.get("state") != "running":
            break
    seconds = time.perf_counter() - begun
    row: dict[str, Any] = {"environment": label, "kind": "faulty example" if label.endswith(".py") else "healthy"}
    if answer.is_error:
        text = "".join(getattr(block, "text", "") for block in answer.content)
        row |= {"state": "refused", "errors": " ".join(CODE.findall(text))}
    else:
        findings = content["report"]["findings"]
        for column, severity in (("errors", "error"), ("warnings", "warning"), ("notes", "note")):
            row[column] = " ".join(sorted({f["code"] for f in findings if f["severity"] == severity}))
        row["adapted"] = " ".join(sorted({f["code"] for f in findings if f["is_adapted"]}))
        row["state"] = content["state"]
    return row | {"seconds": round(seconds, 1), "date": datetime.now(UTC).date().isoformat()}


def read_rows() -> dict[str, dict[str, str]]:
    """The rows so far, by environment."""
    if not RESULTS.exists():
        return {}
    with RESULTS.open(newline="", encoding="utf-8") as file:
        return {row["environment"]: row for row in csv.DictReader(file)}


def write_rows(rows: dict[str, dict[str, str]]) -> None:
    """Write all rows whole, so that one that was measured anew replaces the old one."""
    order = {label: place for place, label in enumerate(environments())}
    unfinished = RESULTS.with_suffix(".part")
    with unfinished.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows.values(), key=lambda row: order[row["environment"]]))
    unfinished.replace(RESULTS)


async def measure(wanted: dict[str, str], rows: dict[str, dict[str, str]]) -> None:
    """Inspect one after the other; every row is kept as soon as it is there."""
    os.environ["AGENT2_ROOTS"] = str(CASES)
    async with Client(build_server().mcp) as client:
        for number, (label, reference) in enumerate(wanted.items(), start=1):
            rows[label] = await inspect(client, label, reference)
            write_rows(rows)
            print(f"{number}/{len(wanted)} {label}: {rows[label]['seconds']} s, {rows[label]['state']}", flush=True)


def print_tables(rows: dict[str, dict[str, str]]) -> None:
    """Both tables as Markdown: the faulty examples, and the healthy environments."""
    for kind in ("faulty example", "healthy"):
        print(f"| {kind} | ends | errors | warnings | notes | adapted by itself | seconds |")
        print("|---|---|---|---|---|---|---|")
        for row in rows.values():
            if row["kind"] == kind:
                cells = [f"`{row['environment']}`", row["state"], row["errors"], row["warnings"], row["notes"]]
                print("|", " | ".join([*(cell or "-" for cell in cells), row["adapted"] or "-", row["seconds"]]), "|")
        print()


def main() -> int:
    """Measure what is missing, or print the tables; exit code 1 where a healthy environment got more than notes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="only these, as the table calls them")
    parser.add_argument("--again", action="store_true", help="measure rows that are there already")
    parser.add_argument("--table", action="store_true", help="print the tables of the rows so far")
    options = parser.parse_args()
    rows = read_rows()
    if options.table:
        print_tables(rows)
        return 0
    known = environments()
    if strangers := set(options.names) - set(known):
        parser.error(f"unknown: {', '.join(sorted(strangers))}; known: {', '.join(known)}")
    wanted = {
        name: reference
        for name, reference in known.items()
        if (not options.names or name in options.names) and (options.again or name not in rows)
    }
    asyncio.run(measure(wanted, rows))
    bad = [
        row["environment"] for row in rows.values() if row["kind"] == "healthy" and (row["errors"] or row["warnings"])
    ]
    if bad:
        print("More than notes: " + ", ".join(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
