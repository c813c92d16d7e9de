"""Running the child half: one sandboxed process a question, in a folder of its own."""

import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agent2_sandbox import ChildAnswer, Limits, ProcessRequest, call_child
from agent2_schemas import EnvironmentReference
from agent2_workspace import read_configuration

PACKAGE = "agent2_environment.introspection"
FOLDER_BYTES, FILE_BYTES = 2**30, 2**29


async def ask_child(
    name: str, payload: dict[str, Any], *, folder: Path, root: Path | None, timeout_seconds: float
) -> ChildAnswer:
    """Run one module of the child half.

    Args:
        name: module of the child half.
        payload: what it gets, as JSON; `folder` and `root` are added.
        folder: the one folder it may write.
        root: source of a file environment, which it may read.
        timeout_seconds: longest time altogether, seconds.

    Raises:
        ChildFailed: it died, or its time was over.
        PrerequisiteError: there is no sandbox on this machine, and the user's configuration demands one.
    """
    configuration = read_configuration()
    reference: dict[str, Any] = payload.get("reference") or {}
    granted = configuration.granted(str(reference.get("name", "")))
    request = ProcessRequest(
        module=f"{PACKAGE}.{name}",
        read_only=(*((root,) if root else ()), *granted.read),
        writable=folder,
        working_directory=folder,
        limits=Limits(
            memory_bytes=configuration.limits.memory_bytes,
            processes=configuration.limits.processes,
            folder_bytes=FOLDER_BYTES,
            file_bytes=FILE_BYTES,
            stall_seconds=None,  # the child's own watchdog knows the step and the line
        ),
        # Installed packages are code that the user chose; a file may be anyone's.
        is_declared_only=root is None,
        isolation_policy=configuration.isolation,
        grants=granted.names,
        environment=granted.variables,
    )
    full: dict[str, object] = {**payload, "folder": str(folder), "root": str(root) if root else None}
    return await call_child(request, full, timeout_seconds=timeout_seconds)


@contextmanager
def child_folder() -> Generator[Path]:
    """Make a folder that a child may write, inside one that only this user may enter; both are gone afterwards."""
    outer = Path(tempfile.mkdtemp(prefix="agent2-environment-")).resolve()
    try:
        folder = outer / "out"
        folder.mkdir(mode=0o755)
        yield folder
    finally:
        shutil.rmtree(outer, ignore_errors=True)


def as_payload(reference: EnvironmentReference) -> dict[str, Any]:
    """Give a reference as the plain dict that the runtime takes."""
    return reference.model_dump(mode="json")
