"""The child of `inspect_environment`: start it, look at it, and report all findings at once."""

import time
from pathlib import Path
from typing import Any

from agent2_environment.introspection.examination import Examination
from agent2_environment.introspection.failures import user_place
from agent2_environment.introspection.group_examination import GroupExamination
from agent2_environment.introspection.joint import JointEnvironment, build_any
from agent2_environment.introspection.notes import Notes, resident_bytes
from agent2_environment.introspection.process_findings import find_in_start
from agent2_environment.introspection.source import describe_source
from agent2_sandbox.child import serve_call
from agent2_targets.runtime.environment import Adapted, BuildError


def main(payload: dict[str, Any]) -> dict[str, Any]:
    """Inspect one environment.

    Args:
        payload: `reference` and `root` for `build_any`, `folder` to write into, `seed`, and the deadlines
            `start_seconds`, `step_seconds`, `first_seconds`.

    Returns:
        `build_error` (code, message, advice, line), or `report` (fields of `EnvironmentReport`), `findings` and
        `is_complete`.
    """
    notes = Notes(Path(payload["folder"]))
    notes.capture_stdout()
    try:
        adapted = _start(notes, payload)
    except BuildError as error:
        notes.rest()
        fields = {"code": error.code, "message": error.message, "advice": error.advice, "line": error.line}
        return {"build_error": fields}
    except BaseException as error:  # an import or a constructor may raise anything, SystemExit included
        notes.rest()
        place = user_place(error)
        return {
            "build_error": {
                "code": "start-failed",
                "message": f"Building it raised {type(error).__name__}: {str(error)[:400]}.",
                "advice": f"Mend {place.get('file', 'the constructor')}"
                + (f", line {place['line']}: {place.get('text', '')}" if "line" in place else "."),
                "line": place.get("line"),
            }
        }
    kind = GroupExamination if isinstance(adapted.env, JointEnvironment) else Examination
    return kind(notes, adapted, payload).run()


def _start(notes: Notes, payload: dict[str, Any]) -> Adapted:
    begun, bytes_before = time.monotonic(), resident_bytes()
    notes.at("start", 0, payload["start_seconds"])
    adapted = build_any(payload["reference"], root=payload["root"])
    notes.rest()
    seconds, taken_bytes = time.monotonic() - begun, resident_bytes() - bytes_before
    find_in_start(notes, seconds, taken_bytes, notes.stdout_bytes())
    notes.save(
        observation_space=adapted.observation_space,
        action_space=adapted.action_space,
        max_episode_steps=adapted.max_episode_steps,
        start_seconds=seconds,
        is_deterministic=None,
        step_seconds=None,
        reset_seconds=None,
        episodes=[],
        **describe_source(adapted.env.unwrapped),
    )
    return adapted


if __name__ == "__main__":
    serve_call(main)
