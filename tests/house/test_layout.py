"""The shape of the tree: source roots, package list, file sizes, tests that mirror it."""

import ast
import tomllib
from collections.abc import Iterable
from pathlib import Path

LINE_LIMIT = 400
TEMPLATES = {".jinja", ".j2", ".html", ".md", ".css", ".js"}
SCENES = {
    # a folder of tests without a twin in the tree: why it stands alone
    "servers/agent2_training/faking": "policies and workers that fake their scores, against the whole server",
    "servers/agent2_training/hostile": "runs that hang, crash or flood, against the whole server",
}
CASES = "cases"  # input for tests, broken on purpose in places


def test_source_roots_hold_packages_of_ours_only(source_roots: dict[str, Path]) -> None:
    for root in source_roots.values():
        names = {entry.name for entry in root.iterdir() if entry.name != "__pycache__"}
        assert all(name.startswith("agent2_") for name in names), f"{root.name} holds {sorted(names)}"
        assert not (root / "__init__.py").exists()


def test_the_list_of_packages_equals_the_tree(root: Path, source_roots: dict[str, Path]) -> None:
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    listed = set(settings["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])
    found = {f"{name}/{folder.name}" for name, path in source_roots.items() for folder in path.glob("agent2_*")}
    assert listed == found
    names = {path.rsplit("/", 1)[1] for path in listed}
    assert set(settings["tool"]["importlinter"]["root_packages"]) == names


def test_every_package_is_typed_and_importable(packages: dict[str, Path]) -> None:
    for folder in packages.values():
        assert (folder / "py.typed").exists(), folder
        assert (folder / "__init__.py").exists(), folder


def too_long(files: Iterable[Path]) -> list[str]:
    """Files above the limit of lines, with their lengths."""
    lengths = {str(path): len(path.read_bytes().splitlines()) for path in files}
    return [f"{name}: {length} lines" for name, length in lengths.items() if length > LINE_LIMIT]


def test_no_file_is_longer_than_the_limit(python_files: list[Path]) -> None:
    assert too_long(python_files) == []


def test_no_template_is_longer_than_the_limit(source_roots: dict[str, Path]) -> None:
    found = [path for root in source_roots.values() for path in root.rglob("*") if path.suffix in TEMPLATES]
    assert found
    assert too_long(found) == []


def test_a_file_that_is_too_long_is_caught(tmp_path: Path) -> None:
    for length in (LINE_LIMIT, LINE_LIMIT + 1):
        (tmp_path / f"{length}.jinja").write_text("line\n" * length, encoding="utf-8")
    assert too_long(tmp_path.iterdir()) == [f"{tmp_path / f'{LINE_LIMIT + 1}.jinja'}: {LINE_LIMIT + 1} lines"]


def test_every_module_opens_with_a_docstring(python_files: list[Path], root: Path) -> None:
    silent: list[str] = []
    for path in python_files:
        if CASES in path.relative_to(root).parts:
            continue
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        if not docstring or not docstring.splitlines()[0].strip():
            silent.append(str(path.relative_to(root)))
    assert silent == []


def folders_without_a_twin(tests: Path, sources: Path) -> list[str]:
    """Folders of tests, relative to `tests`, of which the tree holds no folder of that name.

    A folder that holds no test is support for its neighbours and may be called anything.
    """
    holding = {
        path.parent.relative_to(tests).as_posix() for path in tests.rglob("test_*.py") if CASES not in path.parts
    }
    return sorted(name for name in holding if not (sources / name).is_dir())


def test_tests_mirror_the_tree(root: Path, source_roots: dict[str, Path]) -> None:
    strangers = {
        f"{name}/{folder}"
        for name, source in source_roots.items()
        for folder in folders_without_a_twin(root / "tests" / name, source)
    }
    assert strangers == set(SCENES)


def test_a_folder_of_tests_without_a_twin_is_caught(tmp_path: Path) -> None:
    for path in ("tests/agent2_a/engine", "tests/agent2_a/extras", "tests/agent2_a/scripts", "sources/agent2_a/engine"):
        (tmp_path / path).mkdir(parents=True)
    for name in ("engine/test_one.py", "extras/test_two.py", "scripts/peer.py"):
        (tmp_path / "tests" / "agent2_a" / name).touch()
    assert folders_without_a_twin(tmp_path / "tests", tmp_path / "sources") == ["agent2_a/extras"]


def test_every_package_has_tests(root: Path, packages: dict[str, Path]) -> None:
    for name, folder in packages.items():
        tests = root / "tests" / folder.parent.name / name
        assert list(tests.rglob("test_*.py")), f"{tests.relative_to(root)} holds no test"


def test_no_folder_of_tests_is_a_package(root: Path) -> None:
    assert [str(path) for path in (root / "tests").rglob("__init__.py") if CASES not in path.parts] == []
