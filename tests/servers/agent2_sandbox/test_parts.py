"""The parts of the sandbox by themselves: filter, command lines, log, explanations, processes, guards."""

import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from agent2_sandbox import cgroup
from agent2_sandbox.bubblewrap import bubblewrap_command
from agent2_sandbox.explaining import exit_message, place_in, with_hint
from agent2_sandbox.guards import GuardError, checked_components, guarded_call, guarded_load, read_only_view
from agent2_sandbox.logfile import CappedLog
from agent2_sandbox.ownership import needs_read_capability, unused_uid
from agent2_sandbox.processes import creation_time, descendants, is_alive, proportional_bytes, resident_bytes
from agent2_sandbox.request import ProcessRequest
from agent2_sandbox.roots import system_roots
from agent2_sandbox.seatbelt import seatbelt_profile
from agent2_sandbox.seccomp import filter_program
from agent2_sandbox.specification import Specification
from agent2_sandbox.starting import build_specification
from agent2_sandbox.watching import folder_size
from agent2_schemas import Isolation


def _specification(folder: Path, grants: tuple[str, ...] = ()) -> Specification:
    return build_specification(
        ProcessRequest(
            module="agent2_sandbox.script",
            read_only=(folder / "candidate",),
            writable=folder / "work",
            grants=grants,
        ),
        Isolation(tier="A", not_enforced=("this",)),
        kind="run",
        lease="keep",
        status_file=folder / "process.json",
        log_file=folder / "log",
    )


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("has_network_namespace", [True, False])
def test_every_jump_of_the_filter_stays_inside_it_and_it_ends_with_an_answer(
    machine: str, has_network_namespace: bool
) -> None:
    program = filter_program(has_network_namespace=has_network_namespace, machine=machine)
    instructions = list(struct.iter_unpack("<HBBI", program))
    assert 100 < len(instructions) < 400
    assert instructions[-1] == (0x06, 0, 0, 0x7FFF0000)
    for index, (code, if_true, if_false, _) in enumerate(instructions):
        assert code in (0x20, 0x15, 0x35, 0x45, 0x06)
        assert index + 1 + max(if_true, if_false) < len(instructions) or code == 0x06
    with pytest.raises(OSError, match="no system-call filter"):
        filter_program(has_network_namespace=True, machine="pdp11")


def test_a_specification_survives_its_line(run_folder: Path) -> None:
    specification = _specification(run_folder)
    assert Specification.from_line(specification.to_line()) == specification
    assert specification.to_line().count(b"\n") == 1


def test_bubblewrap_gets_parents_before_children_and_no_secret(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary")
    command = bubblewrap_command(_specification(run_folder), 9)
    text = " ".join(command)
    assert "sk-canary" not in text
    assert text.index(f"--ro-bind {run_folder}/candidate") > text.index(f"--dir {run_folder} ")
    assert text.index(f"--bind {run_folder}/work") < text.index("--remount-ro /dev --remount-ro /")
    for option in (
        "--unshare-net",
        "--unshare-pid",
        "--cap-drop ALL",
        "--die-with-parent",
        "--seccomp 9",
        "--clearenv",
    ):
        assert option in text
    assert "--unshare-user" in text
    assert "--unshare-net" not in bubblewrap_command(_specification(run_folder, grants=("network",)), 9)
    assert "/dev/nvidiactl" in bubblewrap_command(_specification(run_folder, grants=("gpu",)), 9)


def test_the_macos_profile_denies_by_default_and_opens_only_the_named_folders(run_folder: Path) -> None:
    profile = seatbelt_profile(_specification(run_folder))
    assert "(deny default)" in profile
    assert f'(allow file-read* file-write* (subpath "{run_folder}/work"))' in profile
    assert "network" not in profile
    assert "SecurityServer" not in profile


def test_roots_hold_the_interpreter_but_never_the_home_or_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    system_roots.cache_clear()
    roots = system_roots()
    assert any(Path(sys.prefix).is_relative_to(root) for root in roots)
    assert any(Path(sys.executable).resolve().is_relative_to(root) for root in roots)
    assert str(tmp_path) not in roots
    assert not {"/", str(Path.home()), "/tmp", "/home", "/root"} & set(roots)


def test_a_log_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    log = CappedLog(str(tmp_path / "log"), 1000)
    log.write(b"begin" + b"x" * 5000)
    for _ in range(50):
        log.write(b"y" * 100)
    log.write(b"end")
    log.flush()
    log.flush()
    text = (tmp_path / "log").read_text()
    assert text.startswith("beginxxx")
    assert text.endswith("yyyend")
    assert "bytes of output dropped by the log cap]" in text
    assert len(text) < 1100
    assert log.recent(10) == "yyyyyyyend"


def test_a_short_log_is_whole_and_recent_reads_it(tmp_path: Path) -> None:
    log = CappedLog(str(tmp_path / "log"), 1000)
    log.write(b"one\n")
    log.write(b"two\n")
    log.flush()
    assert (tmp_path / "log").read_text() == "one\ntwo\n" == log.recent()


def test_the_line_of_generated_code_is_found_in_a_traceback_and_in_a_dump() -> None:
    traceback = 'File "/x/worker.py", line 9, in main\n  File "/c/mdp.py", line 3, in reward\n  File "/lib/numpy/a.py", line 7, in f'
    place = place_in(traceback, ("/c",), newest_first=False)
    assert str(place) == "mdp.py, line 3 in reward"
    dump = (
        'File "/lib/numpy/a.py", line 7 in f\n  File "/c/mdp.py", line 3 in reward\n  File "/c/mdp.py", line 30 in top'
    )
    place = place_in(dump, ("/c",), newest_first=True)
    assert place is not None
    assert place.line == 3
    assert place_in(dump, ("/elsewhere",), newest_first=True) is None


def test_exit_codes_are_explained() -> None:
    assert exit_message(0, "", ())[0] == "exited_early"
    assert "SIGSEGV" in exit_message(139, "", ())[1]
    log = 'Traceback (most recent call last):\n  File "/c/mdp.py", line 3, in reward\nValueError: too odd\n'
    outcome, message, place = exit_message(1, log, ("/c",))
    assert outcome == "crashed"
    assert "ValueError: too odd" in message
    assert place is not None
    assert place.line == 3
    assert "no network in the sandbox" in with_hint("OSError: Network is unreachable")


def test_a_process_is_its_number_and_its_creation() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    created = creation_time(child.pid)
    assert created is not None
    assert is_alive(child.pid, created)
    assert not is_alive(child.pid, created + 1)
    assert child.pid in descendants(os.getpid())
    assert child.pid in descendants(os.getpid(), is_thorough=True)
    assert 0 < proportional_bytes([child.pid]) <= resident_bytes([child.pid]) * 1.5
    child.communicate(b"\n")
    assert not is_alive(child.pid, created)


def test_a_folder_is_measured_without_following_links(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_bytes(b"x" * 100_000)
    (tmp_path / "link").symlink_to("/usr")
    size, entries, is_deep = folder_size(str(tmp_path), 10**9, 10**6)
    assert 100_000 <= size < 300_000
    assert entries == 3
    assert not is_deep
    deep = tmp_path
    for _ in range(70):
        deep = deep / "d"
    deep.mkdir(parents=True)
    assert folder_size(str(tmp_path), 10**9, 10**6)[2]


def test_a_closed_candidate_asks_for_the_right_to_read(run_folder: Path) -> None:
    specification = _specification(run_folder)
    assert not needs_read_capability(specification)
    (run_folder / "candidate" / "mdp.py").write_text("")
    (run_folder / "candidate" / "mdp.py").chmod(0o600)
    assert needs_read_capability(specification)
    assert unused_uid(1) != unused_uid(2)


def test_a_memory_group_is_made_in_the_first_folder_that_may_and_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cgroup.procs").touch()
    (tmp_path / "agent2-999999999").mkdir()
    monkeypatch.setattr(cgroup, "_second_version", lambda: [str(tmp_path / "missing"), str(tmp_path)])
    monkeypatch.setattr(cgroup, "_write", lambda path, text: Path(path).write_text(text))
    folder = cgroup.make_group(10**9)
    assert folder is not None
    assert folder == str(tmp_path / f"agent2-{os.getpid()}")
    assert not (tmp_path / "agent2-999999999").exists()
    assert (Path(folder) / "memory.limit_in_bytes").read_text() == "1000000000"
    (Path(folder) / "memory.events").write_text("low 0\noom_kill 2\n")
    assert cgroup.kernel_kills(folder) == 2


def test_views_cannot_be_written() -> None:
    array = np.zeros(3)
    view = read_only_view({"a": array})
    with pytest.raises(ValueError, match="read-only"):
        view["a"][0] = 1
    with pytest.raises(TypeError, match="mappingproxy"):
        view["b"] = array
    array[0] = 1


def test_what_generated_code_raises_is_named_with_line_and_step(tmp_path: Path) -> None:
    file = tmp_path / "mdp.py"
    names: dict[str, object] = {}
    text = "import sys\ndef reward(x):\n    sys.exit(3)\ndef deep(x):\n    return deep(x)\n"
    exec(compile(text, str(file), "exec"), names)
    with pytest.raises(GuardError, match=r"reward called sys\.exit\(3\) at step 7 \(mdp\.py, line 3\)"):
        guarded_call("reward", names["reward"], np.zeros(1), file=file, step=7)  # pyright: ignore[reportArgumentType]  # a function
    with pytest.raises(GuardError, match=r"RecursionError.*line 5"):
        guarded_call("deep", names["deep"], 1, file=file, step=1)  # pyright: ignore[reportArgumentType]  # a function
    with pytest.raises(GuardError, match=r"could not load mdp\.py: SyntaxError.*line 1"):
        guarded_load(file, lambda: compile("def f(:", str(file), "exec"))
    with pytest.raises(GuardError, match=r"module called sys\.exit\(1\) while loading"):
        guarded_load(file, lambda: sys.exit(1))
    with pytest.raises(GuardError, match=r"could not load mdp\.py: ModuleNotFoundError"):
        guarded_load(file, lambda: __import__("no_such_module_at_all"))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (float("nan"), "shape"), (np.full(2, np.nan), "is nan at step 4, observation min 0 max 1"), (np.zeros(3), r"shape \(3,\)"),
        (np.zeros(2, complex), "must be real numbers, got complex128"), ("much", "must be real numbers"), (None, "real numbers"),
        ([10**400, 1], "real numbers"), (np.full(2, np.inf), "is inf"),
    ],
)  # fmt: skip
def test_a_wrong_component_is_named(value: object, words: str) -> None:
    with pytest.raises(GuardError, match=words):
        checked_components({"x": value}, 2, step=4, observation=np.array([0.0, 1.0]))
    with pytest.raises(GuardError, match="must return a dict"):
        checked_components([value], 2, step=4)
    assert checked_components({"x": np.array([1, 2])}, 2, step=4)["x"].dtype == np.float64
