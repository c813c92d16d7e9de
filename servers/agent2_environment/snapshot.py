"""Copying the source of a file environment, so that what is trained is what was inspected."""

import ast
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

FILES_AT_MOST, BYTES_AT_MOST, ENTRIES_AT_MOST = 100, 10 * 2**20, 2000
LEFT_OUT = {"__pycache__", "node_modules", "site-packages", "agent2-workspace"}


def source_files(file: Path, *, workspace_root: Path) -> list[Path]:
    """Choose the files that belong to an environment: its whole folder where that is small, else what it imports.

    Left out are hidden files (which may hold keys), virtual environments, caches, workspaces and links.

    Args:
        file: the file that was named.
        workspace_root: never copied into itself.

    Returns:
        Paths relative to the file's folder, sorted; the file is always among them.
    """
    folder = file.parent
    chosen: list[Path] = []
    total_bytes = 0
    for path in _walk(folder, workspace_root.resolve()):
        total_bytes += path.stat().st_size
        chosen.append(path.relative_to(folder))
        if len(chosen) > FILES_AT_MOST or total_bytes > BYTES_AT_MOST:
            return sorted(_imported(file))
    return sorted({*chosen, file.relative_to(folder)})


def copy_sources(folder: Path, files: list[Path], destination: Path) -> None:
    """Copy files, keeping their relative places."""
    for relative in files:
        target = destination / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / relative, target, follow_symlinks=False)


def _walk(folder: Path, workspace_root: Path) -> Iterator[Path]:
    visited = 0
    for where, folders, names in os.walk(folder):
        here = Path(where)
        folders[:] = [name for name in sorted(folders) if _is_wanted(here / name, workspace_root)]
        for name in sorted(names):
            path = here / name
            visited += 1
            if visited > ENTRIES_AT_MOST:
                # Far more than belongs to one environment: count as large without looking at the rest.
                yield from [path] * (FILES_AT_MOST + 1)
                return
            if not name.startswith(".") and not path.is_symlink() and path.is_file():
                yield path


def _is_wanted(folder: Path, workspace_root: Path) -> bool:
    if folder.name.startswith(".") or folder.name in LEFT_OUT or folder.is_symlink():
        return False
    is_environment = (folder / "pyvenv.cfg").exists() or (folder / "conda-meta").exists()
    is_workspace = folder.resolve() == workspace_root or (folder / ".secret").exists()
    return not is_environment and not is_workspace


def _imported(file: Path) -> set[Path]:
    """Follow static imports of modules and packages that stand beside the file."""
    folder, waiting, found = file.parent, [file], set[Path]()
    while waiting:
        current = waiting.pop()
        relative = current.relative_to(folder)
        if relative in found or len(found) > FILES_AT_MOST:
            continue
        found.add(relative)
        for name in _imports(current):
            module, package = folder / f"{name}.py", folder / name
            if module.is_file():
                waiting.append(module)
            if (package / "__init__.py").is_file():
                waiting += sorted(path for path in package.rglob("*.py") if not path.is_symlink())
    return found


def _imports(file: Path) -> set[str]:
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return set()  # the build says what is wrong with it
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module.split(".")[0])
    return names
