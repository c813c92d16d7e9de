"""Seed lists are secret, disjoint and reproducible."""

from pathlib import Path

from agent2_workspace import fresh_seeds, seed_list, workspace_secret


def test_lists_of_different_purposes_never_meet() -> None:
    lists = [set(seed_list(b"key", "p", 0, purpose, 500)) for purpose in ("selection", "verdict", "card", "training")]
    lists.append(set(fresh_seeds(500)))
    assert sum(map(len, lists)) == len(set().union(*lists)) == 2500


def test_a_longer_list_begins_with_the_shorter_one() -> None:
    assert seed_list(b"key", "p", 0, "card", 20)[:5] == seed_list(b"key", "p", 0, "card", 5)


def test_another_key_project_or_seed_gives_another_list() -> None:
    known = seed_list(b"key", "p", 0, "card", 5)
    others = [
        seed_list(b"other", "p", 0, "card", 5),
        seed_list(b"key", "q", 0, "card", 5),
        seed_list(b"key", "p", 1, "card", 5),
    ]
    assert all(set(known).isdisjoint(other) for other in others)


def test_the_key_is_made_once_and_readable_by_its_owner_only(tmp_path: Path) -> None:
    key = workspace_secret(tmp_path)
    assert workspace_secret(tmp_path) == key
    assert (tmp_path / ".secret").stat().st_mode & 0o077 == 0


def test_seeds_fit_what_environments_accept() -> None:
    assert all(0 <= seed < 2**31 for seed in (*seed_list(b"k", "p", 3, "recording", 100), *fresh_seeds(100)))
