"""The preview of a candidate: before and after over recordings, as a table and a plot."""

import secrets
import shutil
from pathlib import Path
from typing import Any

from agent2_mdp.facts import read_report, recordings
from agent2_mdp.font_cache import keep_font_list, lend_font_list
from agent2_sandbox import ChildFailed, Limits, ProcessRequest, call_child
from agent2_schemas import CodeRejected, MdpDesign, MdpPreview, PreviewRow
from agent2_workspace import CandidateFolder, ProjectFolder, read_configuration, read_yaml, write_whole

CHILD_SECONDS = 30.0
LIMITS = Limits(memory_bytes=2 * 2**30, processes=16, stall_seconds=20.0)


async def preview(project: ProjectFolder, candidate: CandidateFolder) -> MdpPreview:
    """Compare what the environment gives with what the agent gets.

    Raises:
        CodeRejected: the candidate was rejected, or its code fails.
        NotFound: it was not verified yet.
    """
    if not candidate.read_verification().is_accepted:
        raise CodeRejected(
            f"Candidate {candidate.id!r} was rejected.",
            f"Read its findings with read_candidate, mend it, and call write_mdp(parent={candidate.id!r}).",
        )
    plot = candidate.root / "preview.png"
    try:
        value = await _measure(project, candidate)
    except ChildFailed as failure:
        raise CodeRejected(f"The preview of {candidate.id!r} failed: {failure.message}", "Mend its code.") from failure
    rows = tuple(PreviewRow(**row) for row in value["rows"])
    is_drawn = bool(value["plot"]) and await _draw(candidate, value["columns"], font_cache(project))
    return MdpPreview(
        candidate_id=candidate.id,
        rows=rows,
        plot=str(plot) if is_drawn else "",
        message="" if is_drawn else "No plot: matplotlib is not installed (pip install 'agent-squared[metrics]').",
        next_step="write_training",
    )


def font_cache(project: ProjectFolder) -> Path:
    """Where the workspace keeps Matplotlib's list of fonts."""
    return project.root.parent.parent / "cache" / "matplotlib"


async def _measure(project: ProjectFolder, candidate: CandidateFolder) -> dict[str, Any]:
    report, files = read_report(project), recordings(project)
    design = read_yaml(candidate.mdp_design_file, MdpDesign)
    request = ProcessRequest(
        module="agent2_mdp.child.preview",
        read_only=(candidate.mdp_file, *files),
        limits=LIMITS,
        is_declared_only=design.is_declared_only,
        isolation_policy=read_configuration().isolation,
    )
    payload: dict[str, object] = {
        "file": str(candidate.mdp_file),
        "recordings": [str(path) for path in files],
        "observation_space": report.observation_space.model_dump(mode="json"),
        "action_space": report.action_space.model_dump(mode="json"),
        "stateful": design.stateful.model_dump(mode="json"),
        "info_keys": list(design.info_keys),
        "reward_scale": design.reward_scale,
    }
    answer = await call_child(request, payload, timeout_seconds=CHILD_SECONDS)
    return answer.value


async def _draw(candidate: CandidateFolder, columns: dict[str, Any], cache: Path) -> bool:
    """Draw in a child that runs no generated code; it answers with the picture, which trusted code then writes."""
    payload: dict[str, object] = {"columns": columns, "title": f"Candidate {candidate.id}: before and after"}
    fonts = candidate.root / f".fonts-{secrets.token_hex(3)}"
    fonts.mkdir()
    request = ProcessRequest(
        module="agent2_mdp.child.plot",
        writable=fonts,
        limits=LIMITS,
        environment={"MPLCONFIGDIR": str(fonts)},
        is_declared_only=True,
    )
    try:
        lend_font_list(cache, fonts)
        answer = await call_child(request, payload, timeout_seconds=CHILD_SECONDS)
        write_whole(candidate.root / "preview.png", bytes.fromhex(str(answer.value["png_hex"])))
        keep_font_list(cache, fonts)
    except ChildFailed:
        return False
    finally:
        shutil.rmtree(fonts, ignore_errors=True)
    return True
