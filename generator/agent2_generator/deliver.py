"""Stage 5: choose which run ships, export the Target Agent with its own score, write the report."""

from agent2_generator.designer import Archive
from agent2_generator.judge import Judgement
from agent2_generator.running import evaluate, own_env_steps
from agent2_generator.session import ACTOR, Session
from agent2_schemas import BuildResult, ReportWritten, RunFailed, RunList, TargetExported
from agent2_workspace import Journal

EARLIER_CHECKPOINTS = 2
"""How many earlier checkpoints of the best run compete with its last one, where time allows."""


async def deliver(session: Session, archive: Archive, judgement: Judgement) -> BuildResult:
    """Export the champion's best run and report.

    Returns:
        The result of the build.

    Raises:
        RunFailed: no run of the champion can be exported.
    """
    session.stage("deliver")
    champion = archive.champion
    if champion is None:
        raise RunFailed("No candidate was trained.", f"See `agent2 runs {session.name}`.")
    run_id, checkpoint = await _best_checkpoint(session, champion.run_ids)
    exported = await session.call("training", "export_target", TargetExported, run=run_id, checkpoint=checkpoint)
    session.decide(champion, decision="winner")
    card = exported.card
    result = BuildResult(
        project=session.name,
        state="delivered",
        target=exported.folder,
        algorithm=champion.recipe.algorithm,
        score=card.mean_original_return if card else None,
        score_episodes=card.episodes if card else 0,
        score_interval_low=card.interval_low if card else None,
        score_interval_high=card.interval_high if card else None,
        verdict=judgement.word,
        verdict_reason=judgement.reason,
        target_return_reached=_reached(session.options.target_return, card.mean_original_return if card else None),
        env_steps=await _all_env_steps(session),
        seconds=session.clock.used_seconds,
        candidates=len(archive.candidates),
    )
    session.journal.append(ACTOR, "result", session.name, result)
    report = await session.call("metrics", "write_report", ReportWritten)
    return result.model_copy(update={"report": report.file, "seconds": session.clock.used_seconds})


async def _all_env_steps(session: Session) -> int:
    """Count the environment steps of every run of the project, those before a resume once."""
    runs = (await session.call("metrics", "list_runs", RunList)).runs
    return sum(own_env_steps(session, run) for run in runs)


async def _best_checkpoint(session: Session, run_ids: list[str]) -> tuple[str, str]:
    """Choose by selection seeds; the card's seeds stay unused until the export."""
    scored: dict[tuple[str, str], float] = {}
    for run_id in run_ids:
        steps = session.folder.run(run_id).read_checkpoint_steps()
        if steps:
            await _score(session, scored, run_id, str(steps[-1]))
    if not scored:
        raise RunFailed("No run of the best design can be scored.", f"See `agent2 runs {session.name}`.")
    best_run = max(scored, key=scored.__getitem__)[0]
    for steps in session.folder.run(best_run).read_checkpoint_steps()[-1 - EARLIER_CHECKPOINTS : -1]:
        if session.clock.left_seconds > session.finish_seconds:
            await _score(session, scored, best_run, str(steps))
    return max(scored, key=scored.__getitem__)


async def _score(session: Session, scored: dict[tuple[str, str], float], run_id: str, checkpoint: str) -> None:
    result = await evaluate(session, run_id, checkpoint=checkpoint)
    if result.state == "finished" and result.mean_original_return is not None:
        scored[run_id, checkpoint] = result.mean_original_return


def _reached(target: float | None, score: float | None) -> bool | None:
    return None if target is None else score is not None and score >= target


def explain_interruption(session: Session) -> BuildResult:
    """Say what is kept and how to go on."""
    session.tick("interrupted")
    result = BuildResult(
        project=session.name,
        state="stopped",
        message=f"Stopped; everything finished is kept. Resume with: agent2 resume {session.name}",
        env_steps=session.clock.env_steps,
        seconds=session.clock.used_seconds,
    )
    session.journal.append(ACTOR, "interrupted", session.name, result)
    return result


def explain_no_beginning(project: str, journal: Journal) -> BuildResult:
    """Say how to go on where a build was interrupted before it had its servers."""
    advice = (
        f"Resume with: agent2 resume {project}" if journal.events(kind="options") else "Type the same command again."
    )
    return BuildResult(project=project, state="stopped", message=f"Stopped before anything was begun. {advice}")
