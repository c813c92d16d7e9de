"""From what a dead child left behind to a finding; its notes are untrusted."""

from pathlib import Path

import pytest

from agent2_environment.crash import crash_finding, read_partial, read_place
from agent2_sandbox import ChildFailed

STALL = """Timeout (0:00:04)!
Thread 0x00007f [ThreadPool] (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 320 in wait

Thread 0x00007f (most recent call first):
  File "/home/me/car.py", line 29 in step
  File "/src/agent2_environment/introspection/stepping.py", line 90 in step
"""


def test_a_hang_names_step_limit_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "now.txt").write_text("random 12 3                ")
    (tmp_path / "stall.txt").write_text(STALL)
    place = read_place(tmp_path, "")
    finding = crash_finding(ChildFailed("exited_early", "ended with code 1"), place)
    assert finding.code == "step-hangs"
    assert finding.message == "Step 12 did not finish within 3 s; it was at car.py, line 29."
    assert (finding.file, finding.line, finding.step) == ("/home/me/car.py", 29, 12)


def test_a_signal_is_named_with_its_step(tmp_path: Path) -> None:
    (tmp_path / "now.txt").write_text("random 9 3")
    failure = ChildFailed("crashed", "ended", "Fatal Python error: Segmentation fault\n")
    finding = crash_finding(failure, read_place(tmp_path, failure.log))
    assert finding.code == "process-crashed"
    assert "died of SIGSEGV at step 9" in finding.message


def test_an_early_exit_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "now.txt").write_text("random 4 3")
    finding = crash_finding(ChildFailed("exited_early", "exit code 0"), read_place(tmp_path, ""))
    assert finding.code == "exit-in-step"
    assert "step 4" in finding.message


def test_a_crash_of_the_second_instance_is_a_warning_about_one_instance(tmp_path: Path) -> None:
    (tmp_path / "now.txt").write_text("second-instance 0 60")
    finding = crash_finding(ChildFailed("crashed", "died of SIGSEGV"), read_place(tmp_path, ""))
    assert (finding.code, finding.severity, finding.is_adapted) == ("one-instance", "warning", True)


def test_a_full_disk_is_not_blamed_on_the_environment(tmp_path: Path) -> None:
    (tmp_path / "now.txt").write_text("random 9 3")
    place = read_place(tmp_path, "")
    full = crash_finding(ChildFailed("disk_limit", "disk_limit: the disk has only 3 MB left"), place)
    assert (full.code, "no fault of the environment" in full.message) == ("disk-full", True)
    own = crash_finding(ChildFailed("disk_limit", "disk_limit: run folder holds 900 MB, limit 500 MB"), place)
    assert own.code == "writes-too-much"


@pytest.mark.parametrize("text", ["", "random", "random x 3", "a b c d", "random 1 nan", "\0\0\0", "random 1 3.0.0"])
def test_notes_that_make_no_sense_give_a_finding_all_the_same(text: str, tmp_path: Path) -> None:
    (tmp_path / "now.txt").write_text(text)
    finding = crash_finding(ChildFailed("crashed", "died of SIGKILL"), read_place(tmp_path, ""))
    assert finding.severity == "error"


def test_a_partial_report_that_is_a_link_or_no_object_is_not_read(tmp_path: Path) -> None:
    assert read_partial(tmp_path) == ({}, [])
    (tmp_path / "partial.json").write_text("[1, 2]")
    assert read_partial(tmp_path) == ({}, [])
    (tmp_path / "secret.json").write_text('{"report": {"documentation": "secret"}}')
    (tmp_path / "partial.json").unlink()
    (tmp_path / "partial.json").symlink_to(tmp_path / "secret.json")
    assert read_partial(tmp_path) == ({}, [])
