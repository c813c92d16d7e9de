"""Matplotlib's list of fonts, built once in a workspace: without it each drawing child would look through all fonts."""

import shutil
from pathlib import Path

from agent2_workspace import write_whole

LIST_PATTERN = "fontlist-*.json"
MAX_BYTES = 8 * 2**20


def lend_font_list(cache: Path, folder: Path) -> None:
    """Copy the list into the folder that a child uses as `MPLCONFIGDIR`; nothing where there is none yet.

    A copy, because Matplotlib ignores a folder that it cannot write.
    """
    for file in cache.glob(LIST_PATTERN) if cache.is_dir() else ():
        shutil.copyfile(file, folder / file.name)


def keep_font_list(cache: Path, folder: Path) -> None:
    """Keep the list that a child has built, where there is none of this name; the child ran no generated code."""
    for file in folder.glob(LIST_PATTERN):
        kept = cache / file.name
        if not kept.exists() and file.is_file() and not file.is_symlink() and file.stat().st_size <= MAX_BYTES:
            write_whole(kept, file.read_bytes())
