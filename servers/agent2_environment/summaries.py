"""Short texts beside the data of each answer, and the concise form of a report."""

from agent2_schemas import EnvironmentReport, GroupReport, Inspection, Space

ENTRIES_AT_MOST, KEYS_AT_MOST, DOCUMENTATION_CHARACTERS = 12, 16, 300


def concise(inspection: Inspection) -> Inspection:
    """Cut an answer down to what a first look needs; `environment.json` and `detail="full"` hold the rest."""
    report = inspection.report
    if report is None:
        return inspection
    shorter = report.model_copy(
        update={
            "observation_entries": report.observation_entries[:ENTRIES_AT_MOST],
            "info_keys": report.info_keys[:KEYS_AT_MOST],
            "documentation": report.documentation[:DOCUMENTATION_CHARACTERS],
            "groups": tuple(
                group.model_copy(update={"observation_entries": group.observation_entries[:ENTRIES_AT_MOST]})
                for group in report.groups
            ),
        }
    )
    return inspection.model_copy(update={"report": shorter})


def inspection_text(inspection: Inspection) -> str:
    """Say in a few lines what was found."""
    report = inspection.report
    if report is None:
        return f"{inspection.message} {inspection.next_step}".strip()
    counts = {
        severity: sum(finding.severity == severity for finding in report.findings)
        for severity in ("error", "warning", "note")
    }
    opened = f" Project {inspection.project} is open in {inspection.project_folder}." if inspection.project else ""
    lines = [
        f"{report.reference.name}: {_agents_text(report)}, limit {report.max_episode_steps or 'none'}; {_returns(report)}. "
        f"Errors: {counts['error']}, warnings: {counts['warning']}, notes: {counts['note']}.{opened}",
    ]
    lines += [group_text(group) for group in report.groups]
    if inspection.message:
        lines.append(inspection.message)
    lines += [f"{finding.severity} {finding.code}: {finding.message}" for finding in report.findings]
    return "\n".join(lines)


def _agents_text(report: EnvironmentReport) -> str:
    """Name what the agent sees and does, or who the agents are."""
    if not report.groups:
        return f"observation {space_text(report.observation_space)}, action {space_text(report.action_space)}"
    aim = "that want the same" if report.is_cooperative else "in groups with rewards of their own"
    return f"{sum(len(group.agents) for group in report.groups)} agents {aim} ({report.backend})"


def group_text(group: GroupReport) -> str:
    """Describe one group of agents in a line."""
    masks = ", not every choice always legal" if group.has_action_mask else ""
    played = "" if group.mean_original_return is None else f", random return {group.mean_original_return:.4g} per agent"
    return (
        f"group {group.name}: {len(group.agents)} x observation {space_text(group.observation_space)}, action "
        f"{space_text(group.action_space)}{masks}{played}"
    )


def space_text(space: Space) -> str:
    """Name a space in a few characters."""
    match space.kind:
        case "box":
            return f"box{space.shape} {space.dtype}"
        case "discrete":
            return f"discrete {space.n}"
        case "multi_discrete":
            return f"multi-discrete {space.nvec}"
        case "multi_binary":
            return f"multi-binary {space.shape}"
        case "dict":
            return "dict of " + ", ".join(space.spaces)
        case "tuple":
            return f"tuple of {len(space.spaces)}"
        case "other":
            return space.description[:60]


def _returns(report: EnvironmentReport) -> str:
    parts = [
        f"{one.policy} return {one.mean_original_return:.4g} over {one.episodes} episodes"
        for one in report.episodes
        if one.mean_original_return is not None
    ]
    unit = " (mean episode return per agent)" if report.groups and parts else ""
    return (", ".join(parts) or "no finished episode") + unit
