"""Writing a candidate: its folder is complete before the journal names it, and an equal key gives the same one."""

import shutil
from dataclasses import dataclass

from agent2_mdp.arguments import MdpArguments
from agent2_mdp.facts import read_report, recordings
from agent2_mdp.faults import with_shared_fault
from agent2_mdp.verification import Inputs, Verified, verify
from agent2_schemas import CorrectableError, PrerequisiteError, VerificationReport
from agent2_workspace import CandidateFolder, ProjectFolder, write_json, write_whole, write_yaml

ACTOR = "mdp"


@dataclass(frozen=True, kw_only=True)
class Written:
    """A candidate that is on disk with its report."""

    candidate_id: str
    report: VerificationReport


def journal_key(idempotency_key: str) -> str | None:
    """Give the key of the journal entry for an idempotency key; None without one."""
    return f"write-mdp-{idempotency_key}" if idempotency_key else None


def find_written(project: ProjectFolder, arguments: MdpArguments, idempotency_key: str) -> Written | None:
    """Find the candidate that an earlier call with this key wrote.

    Raises:
        CorrectableError: the key was used for other arguments.
    """
    key = journal_key(idempotency_key)
    event = project.journal.find(key) if key else None
    if event is None:
        return None
    if event.payload.get("arguments_sha256") != arguments.sha256:
        raise CorrectableError(
            f"idempotency_key {idempotency_key!r} was used for candidate {event.subject!r} with other arguments.",
            "Use another key for another candidate.",
        )
    candidate = project.candidate(event.subject)
    return Written(candidate_id=candidate.id, report=candidate.read_verification())


def check_arguments(project: ProjectFolder, arguments: MdpArguments) -> None:
    """Check what must hold before a folder is made.

    Raises:
        NotFound: there is no such parent.
        CorrectableError: the environment was not inspected, or has no recordings.
    """
    if arguments.parent:
        project.candidate(arguments.parent)
    read_report(project)
    recordings(project)


def new_candidate(project: ProjectFolder) -> CandidateFolder:
    """Make the folder of a new candidate.

    Raises:
        PrerequisiteError: the workspace cannot be written.
    """
    try:
        return project.new_candidate()
    except OSError as error:
        raise PrerequisiteError(
            f"The project folder {project.root} cannot be written: {error.strerror or error}.",
            "Free the disk, or set AGENT2_WORKSPACE to a folder of yours.",
        ) from error


async def write_candidate(
    project: ProjectFolder, candidate: CandidateFolder, arguments: MdpArguments, idempotency_key: str
) -> Written:
    """Write mdp.py, verify it, write the report and (where accepted) mdp.yaml, then tell the journal.

    A failure of the check itself leaves no folder behind.

    Raises:
        PrerequisiteError: the check does not work on this machine, or the disk is full.
    """
    try:
        write_whole(candidate.mdp_file, arguments.text)
        inputs = Inputs(environment=read_report(project), recordings=recordings(project))
        verified = await verify(candidate.id, candidate.mdp_file, arguments, inputs)
        shared = with_shared_fault(project, arguments.text, verified.report)
        verified = Verified(report=shared, design=verified.design)
        if verified.design is not None:
            write_yaml(candidate.mdp_design_file, verified.design)
        write_json(candidate.verification_file, verified.report)
    except OSError as error:
        shutil.rmtree(candidate.root, ignore_errors=True)
        raise PrerequisiteError(
            f"Candidate {candidate.id} cannot be written: {error.strerror or error}.",
            "Free the disk, or set AGENT2_WORKSPACE to a folder of yours.",
        ) from error
    except BaseException:
        shutil.rmtree(candidate.root, ignore_errors=True)
        raise
    return _record(project, candidate, arguments, verified, idempotency_key)


def _record(
    project: ProjectFolder,
    candidate: CandidateFolder,
    arguments: MdpArguments,
    verified: Verified,
    idempotency_key: str,
) -> Written:
    payload = {
        "candidate_id": candidate.id,
        "parent_id": arguments.parent or None,
        "title": arguments.title,
        "arguments_sha256": arguments.sha256,
        "is_accepted": verified.report.is_accepted,
        "declared": {
            **arguments.stateful.model_dump(mode="json", exclude={"observation_clip"}),
            "info_keys": list(arguments.info_keys),
            "reward_scale": arguments.reward_scale,
        },
    }
    event = project.journal.append(ACTOR, "candidate-written", candidate.id, payload, key=journal_key(idempotency_key))
    if event.subject != candidate.id:  # another server was first with this key
        shutil.rmtree(candidate.root, ignore_errors=True)
        first = project.candidate(event.subject)
        return Written(candidate_id=first.id, report=first.read_verification())
    project.journal.append(ACTOR, "verification", candidate.id, verified.report)
    return Written(candidate_id=candidate.id, report=verified.report)
