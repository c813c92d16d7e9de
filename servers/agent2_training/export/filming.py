"""Film a Target Agent by its own play.py; a child process in the sandbox, where the environment may draw."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from agent2_sandbox.child import serve_call


def film(payload: dict[str, object]) -> dict[str, object]:
    """Play one episode into a file of the working folder.

    Args:
        payload: `folder` of the agent, `file` to write (.mp4 or .gif), `max_steps`.

    Returns:
        `bytes`: size of the file.

    Raises:
        RuntimeError: the environment draws nothing, or the file could not be written; says why.
    """
    folder, file = Path(str(payload["folder"])), Path(str(payload["file"]))
    sys.path.insert(0, str(folder))
    sys.argv = ["play.py", "--video", str(file), "--max-steps", str(payload["max_steps"])]
    try:
        runpy.run_path(str(folder / "play.py"), run_name="__main__")
    except SystemExit as error:
        if error.code:
            raise RuntimeError(str(error.code)) from error
    return {"bytes": file.stat().st_size}


if __name__ == "__main__":
    serve_call(film)
