"""The order of things: understand, model, configure, train, evaluate, diagnose, refine, judge, deliver."""

from agent2_generator.baselines import create_baselines
from agent2_generator.deliver import deliver
from agent2_generator.designer import Archive
from agent2_generator.forecast import forecast
from agent2_generator.judge import judge
from agent2_generator.search import measure_noise, polish, search
from agent2_generator.session import Session
from agent2_generator.understand import understand
from agent2_schemas import BuildResult


async def build(session: Session) -> BuildResult:
    """Build a Target Agent; every step is journalled, so that the same call goes on after an interruption.

    Args:
        session: servers, journal, clock, display and designer.

    Returns:
        What was delivered.

    Raises:
        Agent2Error: what stopped the build, and what to do next.
    """
    facts = await understand(session)
    archive = Archive()
    baselines = await create_baselines(session, facts, archive)
    tuned = baselines["tuned preset"]
    plan = await forecast(session, tuned, baselines["library default"], facts.run_env_steps)
    await measure_noise(session, archive, tuned, plan)
    await search(session, facts, archive, plan)
    judgement = await judge(session, archive, baselines, plan)
    await polish(session, archive, plan)
    return await deliver(session, archive, judgement)
