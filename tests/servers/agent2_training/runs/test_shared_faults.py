"""Crashes that designs of different code share are told from crashes of one design."""

from collections.abc import Callable
from typing import Any

import pytest

from agent2_schemas import RunStatus
from agent2_training.runs.status import UnstartedEnd, read_status, unstarted_file
from agent2_workspace import CandidateFolder, ProjectFolder, write_json

End = Callable[..., RunStatus]
MESSAGE = "RuntimeError: no display found at step {step}"


@pytest.fixture
def end(cartpole: ProjectFolder, candidate: CandidateFolder, lab: Any) -> End:
    """End a run of the design of this number, and read its status."""

    def end_run(design: int, message: str, *, state: str = "failed") -> RunStatus:
        run = lab.run(cartpole, candidate, design_sha256=str(design))
        outcome = "crashed" if state == "failed" else "ok"
        unstarted = UnstartedEnd.model_validate({"state": state, "outcome": outcome, "message": message})
        write_json(unstarted_file(run), unstarted)
        return read_status(cartpole, run)

    return end_run


def test_three_designs_that_crash_alike_point_to_the_environment(end: End) -> None:
    ends = [end(design, MESSAGE.format(step=100 + design)) for design in (1, 2, 3)]

    assert [status.is_environment_fault for status in ends] == [False, False, True]
    names = ", ".join(status.run_id for status in ends)
    assert ends[-1].message.startswith(f"environment-fault: runs {names} ")
    assert MESSAGE.format(step=103) in ends[-1].message
    assert "doctor" in ends[-1].next_step


def test_a_design_that_crashes_three_times_is_to_blame_itself(end: End) -> None:
    assert not any(end(1, MESSAGE.format(step=step)).is_environment_fault for step in range(3))


def test_where_a_training_has_finished_the_environment_is_known_to_work(end: End) -> None:
    end(9, "", state="finished")

    assert not any(end(design, MESSAGE.format(step=7)).is_environment_fault for design in (1, 2, 3))


def test_crashes_that_read_differently_have_nothing_in_common(end: End) -> None:
    messages = ("KeyError: 'a'", "KeyError: 'b'", "KeyError: 'c'")

    assert not any(end(number, text).is_environment_fault for number, text in enumerate(messages, 1))
