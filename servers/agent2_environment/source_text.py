"""`read_environment_source`: lines of the file that defines an environment's class."""

from importlib import util as module_finder
from pathlib import Path

from agent2_environment.fingerprint import library_roots
from agent2_schemas import EnvironmentReport, NotFound, SourceText
from agent2_workspace import ProjectFolder, read_json

TEXT_CHARACTERS = 60_000


def read_source(project: ProjectFolder, first_line: int, max_lines: int) -> SourceText:
    """Read lines of the environment's source.

    The path comes from a report that a child of foreign code had a say in, so that only Python files of the snapshot and
    of installed packages are read.

    Args:
        project: an opened project.
        first_line: number of the first line wanted, from 1.
        max_lines: how many lines at most.

    Raises:
        NotFound: there is no source file, or it lies elsewhere.
    """
    report = read_report(project)
    file = Path(report.source_file).resolve() if report.source_file else None
    if file is None or file.suffix != ".py" or not file.is_file():
        raise NotFound(
            f"The source of {report.reference.name} is not known as a Python file.", "Read its documentation."
        )
    roots = (project.snapshot.resolve(), *library_roots(), *_import_roots(report))
    if not any(file.is_relative_to(root) for root in roots):
        raise NotFound(
            f"{file} lies neither in the project's snapshot nor among installed packages.", "Open it yourself."
        )
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    chosen = lines[first_line - 1 : first_line - 1 + max_lines]
    text = "\n".join(chosen)[:TEXT_CHARACTERS]
    last_line = first_line - 1 + (text.count("\n") + 1 if text else 0)
    more = last_line < len(lines)
    return SourceText(
        file=str(file),
        first_line=first_line,
        last_line=max(last_line, 0),
        total_lines=len(lines),
        text=text,
        next_step=f"read_environment_source(project={project.name!r}, first_line={last_line + 1})" if more else "",
    )


def read_report(project: ProjectFolder) -> EnvironmentReport:
    """Read the report of an opened project.

    Raises:
        NotFound: its inspection is missing.
    """
    if not project.report_json.exists():
        raise NotFound(f"Project {project.name!r} has no environment.json.", "Call inspect_environment again.")
    return read_json(project.report_json, EnvironmentReport)


def _import_roots(report: EnvironmentReport) -> tuple[Path, ...]:
    """Give the package folder of an editable installation, found by the module's own name and not by the report's path."""
    module = report.reference.name.partition(":")[0].split(".")[0]
    if not module.isidentifier():
        return ()
    spec = find_top_level(module)
    return (spec,) if spec else ()


def find_top_level(module: str) -> Path | None:
    """Find the folder of a top-level package without importing it."""
    spec = module_finder.find_spec(module)
    locations = list(spec.submodule_search_locations or ()) if spec else []
    return Path(locations[0]).resolve() if locations else None
