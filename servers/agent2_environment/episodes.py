"""`sample_episodes` and `render_episode`: a child plays, the project keeps what it recorded or drew."""

from pathlib import Path
from typing import Any, Literal

from agent2_environment.children import as_payload, ask_child, child_folder
from agent2_environment.crash import crash_finding, read_place
from agent2_environment.inspection import FIRST_SECONDS, START_SECONDS, STEP_SECONDS
from agent2_environment.opening import keep_file
from agent2_sandbox import ChildFailed
from agent2_schemas import EnvironmentNotFound, EpisodeSamples, EpisodeStatistics, RenderedEpisode, RunCrashed
from agent2_workspace import ProjectFolder

Policy = Literal["random", "zero"]
SAMPLE_SECONDS, RENDER_SECONDS = 60.0, 45.0
FRAMES_AT_MOST = 500
PICTURES = {"episode.mp4", "episode.gif", "episode.png"}


async def sample(project: ProjectFolder, policy: Policy, episodes: int) -> EpisodeSamples:
    """Play whole episodes of a fixed policy on the project's recording seeds.

    Raises:
        RunCrashed: the environment failed; says where.
    """
    seeds = list(project.seeds("recording", episodes))
    extra: dict[str, Any] = {"policy": policy, "seeds": seeds, "seconds_at_most": SAMPLE_SECONDS}
    with child_folder() as folder:
        value = await _ask(project, "sample", extra, folder, SAMPLE_SECONDS)
        recording = project.recordings / f"sample-{policy}.npz"
        keep_file(folder / "sample.npz", recording)
    statistics = EpisodeStatistics.model_validate(value["statistics"])
    is_short = statistics.episodes < episodes
    return EpisodeSamples(
        statistics=statistics,
        original_returns=tuple(value["original_returns"]),
        recording=str(recording),
        message=f"Only {statistics.episodes} of {episodes} episodes ended within {SAMPLE_SECONDS:.0f} s."
        if is_short
        else "",
        next_step=f"suggest_mdp(project={project.name!r})",
    )


async def render(project: ProjectFolder, policy: Policy) -> RenderedEpisode:
    """Draw one episode of a fixed policy.

    Raises:
        RunCrashed: the environment failed or draws nothing; says why.
    """
    extra: dict[str, Any] = {
        "policy": policy,
        "seed": project.seeds("recording", 1)[0],
        "frames_at_most": FRAMES_AT_MOST,
        "seconds_at_most": RENDER_SECONDS,
    }
    with child_folder() as folder:
        value = await _ask(project, "render", extra, folder, RENDER_SECONDS)
        name = str(value["file"])
        if name not in PICTURES:
            raise RunCrashed(f"The child names a file {name!r} that was not asked for.")
        file = project.root / "renders" / f"{policy}{Path(name).suffix}"
        keep_file(folder / name, file)
    return RenderedEpisode(file=str(file), frames=int(value["frames"]), original_return=value["original_return"])


async def _ask(
    project: ProjectFolder, module: str, extra: dict[str, Any], folder: Path, seconds: float
) -> dict[str, Any]:
    known = project.read()
    root = project.snapshot if known.snapshot else None
    deadlines = {"start_seconds": START_SECONDS, "step_seconds": STEP_SECONDS, "first_seconds": FIRST_SECONDS}
    payload = {"reference": as_payload(known.environment), **deadlines, **extra}
    timeout_seconds = START_SECONDS + FIRST_SECONDS + seconds * 2
    try:
        answer = await ask_child(module, payload, folder=folder, root=root, timeout_seconds=timeout_seconds)
    except ChildFailed as failure:
        # Where the child's own function raised, its message is the best there is; else its notes tell more.
        if failure.outcome == "crashed" and "Error" in failure.message:
            if "BuildError" in failure.message:
                raise EnvironmentNotFound(failure.message, "Inspect the environment again.") from failure
            raise RunCrashed(failure.message, _drawing_advice(failure.message)) from failure
        finding = crash_finding(failure, read_place(folder, failure.log))
        raise RunCrashed(finding.message, finding.advice) from failure
    return dict(answer.value)


def _drawing_advice(message: str) -> str:
    if "render" in message or "OpenGL" in message or "EGL" in message:
        return "Drawing needs an environment that offers rgb_array, and for MuJoCo a software OpenGL (EGL or OSMesa)."
    return "Call inspect_environment: it shows all findings at once."
