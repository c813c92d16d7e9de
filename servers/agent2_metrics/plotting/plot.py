"""Choosing what to draw, and where the picture goes."""

import base64
import hashlib
from pathlib import Path
from typing import cast

from agent2_metrics import children
from agent2_schemas import CorrectableError
from agent2_workspace import ProjectFolder

RUNS_AT_MOST = 40
IMAGE_BYTES_AT_MOST = 150_000


async def plot(project: ProjectFolder, runs: tuple[str, ...], names: tuple[str, ...]) -> tuple[Path, list[str]]:
    """Draw curves of a project's runs into a PNG.

    Args:
        project: the project.
        runs: run ids; empty: all, the newest forty.
        names: canonical names.

    Returns:
        The picture, and the names that no run has.

    Raises:
        CorrectableError: no run has such a curve.
        NotFound: there is no such run.
    """
    chosen = [project.run(run_id) for run_id in runs or project.run_ids()[-RUNS_AT_MOST:]]
    readable = [run for run in chosen if run.tensorboard.is_dir() and run.specification_file.exists()]
    if not readable:
        raise CorrectableError("None of these runs has written curves yet.", "Wait with check_training.")
    folder = project.root / "plots"
    folder.mkdir(exist_ok=True)
    key = "|".join([*(run.id for run in readable), "", *names])
    file = folder / f"curves-{hashlib.sha256(key.encode()).hexdigest()[:10]}.png"
    value = await children.ask(
        "plotting.draw_child",
        {
            "runs": [
                {"run": run.id, "candidate": run.read_specification().candidate_id, "folder": str(run.tensorboard)}
                for run in readable
            ],
            "names": list(names),
            "file": str(file),
            "title": project.name,
        },
        read_only=tuple(run.tensorboard for run in readable),
        writable=folder,
    )
    return file, cast("list[str]", value["missing"])


def encoded(file: Path) -> str | None:
    """The picture in base64, or None where it is too large for an answer."""
    content = file.read_bytes()
    return base64.b64encode(content).decode() if len(content) <= IMAGE_BYTES_AT_MOST else None
