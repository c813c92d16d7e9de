"""Short texts beside the data of each answer, and the concise form of a report."""

from agent2_schemas import EnvironmentReport, Inspection, Space

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
        f"{report.reference.name}: observation {space_text(report.observation_space)}, action "
        f"{space_text(report.action_space)}, limit {report.max_episode_steps or 'none'}; {_returns(report)}. "
        f"Errors: {counts['error']}, warnings: {counts['warning']}, notes: {counts['note']}.{opened}",
    ]
    if inspection.message:
        lines.append(inspection.message)
    lines += [f"{finding.severity} {finding.code}: {finding.message}" for finding in report.findings]
    return "\n".join(lines)


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
    return ", ".join(parts) or "no finished episode"
