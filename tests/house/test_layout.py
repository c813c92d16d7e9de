"""The shape of the tree: source roots, package list, file sizes, names, tests that mirror it."""

import ast
import tomllib
from pathlib import Path

BANNED = {"utils", "util", "helpers", "helper", "common", "core", "misc", "base", "manager"}
LINE_LIMIT = 400
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


def test_no_file_is_longer_than_the_limit(python_files: list[Path], root: Path) -> None:
    lengths = {str(path.relative_to(root)): len(path.read_bytes().splitlines()) for path in python_files}
    assert {name: length for name, length in lengths.items() if length > LINE_LIMIT} == {}


def test_every_module_opens_with_a_docstring(python_files: list[Path], root: Path) -> None:
    silent: list[str] = []
    for path in python_files:
        if CASES in path.relative_to(root).parts:
            continue
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        if not docstring or not docstring.splitlines()[0].strip():
            silent.append(str(path.relative_to(root)))
    assert silent == []


def test_no_module_has_a_name_that_says_nothing(python_files: list[Path], root: Path) -> None:
    paths = [path.relative_to(root) for path in python_files]
    assert [str(path) for path in paths if {*path.parts[:-1], path.stem} & BANNED] == []


def test_tests_mirror_the_tree(root: Path, source_roots: dict[str, Path]) -> None:
    strangers = [
        f"tests/{name}/{folder.name}"
        for name, source in source_roots.items()
        for folder in (root / "tests" / name).glob("*/")
        if folder.name != "__pycache__" and not (source / folder.name).is_dir()
    ]
    assert strangers == []


def test_every_package_has_tests(root: Path, packages: dict[str, Path]) -> None:
    for name, folder in packages.items():
        tests = root / "tests" / folder.parent.name / name
        assert list(tests.rglob("test_*.py")), f"{tests.relative_to(root)} holds no test"


def test_no_folder_of_tests_is_a_package(root: Path) -> None:
    assert [str(path) for path in (root / "tests").rglob("__init__.py") if CASES not in path.parts] == []
