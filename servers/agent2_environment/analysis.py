"""The prompt `analyze_problem`, filled from a project's facts."""

from importlib import resources

from agent2_environment.source_text import read_report, read_source
from agent2_environment.summaries import group_text
from agent2_schemas import Agent2Error, EnvironmentReport
from agent2_workspace import ProjectFolder

SOURCE_LINES = 250
ENTRIES_AT_MOST = 24


def analysis_prompt(project: ProjectFolder) -> str:
    """Fill the prompt with task, context, report and source of a project.

    Raises:
        NotFound: the project was not inspected.
    """
    known, report = project.read(), read_report(project)
    template = resources.files("agent2_environment").joinpath("prompts/analyze_problem.md").read_text("utf-8")
    parts = {
        "task": _fenced(known.task or "(none was given: the environment's own return is the objective)"),
        "context": _fenced(known.context or "(none was given)"),
        "facts": facts(report),
        "findings": _findings(report),
        "source": _source(project),
    }
    for name, text in parts.items():  # not str.format: the template and the facts hold braces
        template = template.replace("{" + name + "}", text)
    return template


def facts(report: EnvironmentReport) -> str:
    """Write a report as lines of Markdown."""
    lines = [
        f"- Environment: `{report.reference.name}`, arguments {report.reference.keyword_arguments or 'none'}",
        f"- Observation space: `{report.observation_space.model_dump_json()[:800]}`",
        f"- Action space: `{report.action_space.model_dump_json()[:400]}`",
        f"- Time limit: {report.max_episode_steps or 'none'} environment steps",
        f"- Equal seed and actions repeat: {report.is_deterministic}",
        f"- Cost: {_number(report.step_seconds)} s a step, {_number(report.reset_seconds)} s a reset",
    ]
    if report.groups:
        aim = "all agents want the same" if report.is_cooperative else "the groups have rewards of their own"
        lines.append(f"- Several agents: {aim}; backend {report.backend}; global state of {report.state_size} entries")
        lines += [f"- {group_text(group)}; agents {', '.join(group.agents)}" for group in report.groups]
        lines.append("- Returns below are the mean episode return per agent")
    for one in report.episodes:
        lines.append(
            f"- {one.policy} policy: {one.episodes} episodes, return {_number(one.mean_original_return)} ± "
            f"{_number(one.std_original_return)} ({_number(one.min_original_return)} … {_number(one.max_original_return)}), "
            f"length {_number(one.mean_length)}, terminated {_number(one.terminated_fraction)}, reward a step "
            f"{_number(one.mean_original_reward)} ± {_number(one.std_original_reward)}, not zero at "
            f"{_number(one.nonzero_reward_fraction)} of steps"
        )
    for entry in report.observation_entries[:ENTRIES_AT_MOST]:
        lines.append(
            f"- Observation entry {entry.index}: mean {_number(entry.mean)}, std {_number(entry.std)}, "
            f"{_number(entry.min)} … {_number(entry.max)}"
        )
    keys = ", ".join(
        f"{key.name} (number, e.g. {key.example})" if key.is_numeric else key.name for key in report.info_keys
    )
    lines.append(f"- Keys of info: {keys or 'none'}")
    if report.documentation:
        lines.append(f"- Documentation: {report.documentation}")
    return "\n".join(lines)


def _findings(report: EnvironmentReport) -> str:
    lines = [f"- {finding.severity}: {finding.message} ({finding.evidence})" for finding in report.findings]
    lines += [f"- adapted: {adaptation}" for adaptation in report.adaptations]
    return "\n".join(lines) or "none"


def _source(project: ProjectFolder) -> str:
    try:
        excerpt = read_source(project, 1, SOURCE_LINES)
    except Agent2Error as error:
        return str(error)
    rest = f"\n(lines 1 to {excerpt.last_line} of {excerpt.total_lines}; read_environment_source gives the rest)"
    return _fenced(excerpt.text, "python") + (rest if excerpt.last_line < excerpt.total_lines else "")


def _fenced(text: str, language: str = "") -> str:
    marks = "```"
    while marks in text:
        marks += "`"
    return f"{marks}{language}\n{text}\n{marks}"


def _number(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.4g}"
