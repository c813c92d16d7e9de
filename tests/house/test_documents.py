"""The documentation: every page is in the book, links lead to pages of it, and its tables are those that were measured."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")


def pages_of(navigation: object) -> Iterator[str]:
    """Every page that a navigation names, however deep."""
    if isinstance(navigation, str):
        yield navigation
    elif isinstance(navigation, dict):
        for value in navigation.values():
            yield from pages_of(value)
    elif isinstance(navigation, list):
        for value in navigation:
            yield from pages_of(value)


def pages_left_out(docs: Path, navigation: object) -> list[str]:
    """Pages in the folder that no reader of the book can reach."""
    there = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    return sorted(there - set(pages_of(navigation)))


def links_that_leave(docs: Path) -> list[str]:
    """Links from pages to files outside the folder: the built book does not have them."""
    return [
        f"{path.relative_to(docs)} -> {target}"
        for path in sorted(docs.rglob("*.md"))
        for target in LINK.findall(path.read_text(encoding="utf-8"))
        if not re.match(r"[a-z]+:", target) and not (path.parent / target).resolve().is_relative_to(docs.resolve())
    ]


def test_the_book_holds_every_page(root: Path) -> None:
    navigation = yaml.safe_load((root / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    assert pages_left_out(root / "docs", navigation) == []
    assert [page for page in pages_of(navigation) if not (root / "docs" / page).is_file()] == []


def test_no_link_leaves_the_book(root: Path) -> None:
    assert links_that_leave(root / "docs") == []


def test_a_page_left_out_and_a_link_that_leaves_are_caught(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    (docs / "decisions").mkdir(parents=True)
    (docs / "one.md").write_text("[a](decisions/two.md) [b](https://example.org) [c](#here) [d](../README.md)")
    (docs / "decisions" / "two.md").write_text("[up](../one.md#there)")
    assert pages_left_out(docs, [{"First": "one.md"}]) == ["decisions/two.md"]
    assert pages_left_out(docs, [{"First": "one.md"}, {"More": ["decisions/two.md"]}]) == []
    assert links_that_leave(docs) == ["one.md -> ../README.md"]


@pytest.mark.parametrize("script", ["inspection"])
def test_a_table_is_the_one_that_its_benchmark_prints(root: Path, script: str) -> None:
    command = [sys.executable, str(root / "benchmarks" / f"{script}.py"), "--table"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, cwd=root).stdout
    page = (root / "docs" / f"{script}.md").read_text(encoding="utf-8")
    tables = [table for table in printed.split("\n\n") if table.strip()]
    assert len(tables) == 2
    assert [table.splitlines()[0] for table in tables if table.strip() not in page] == []
