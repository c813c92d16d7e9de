"""Verifying the stored code of a candidate anew, against the recordings that there are now; nothing is written."""

from agent2_mdp.arguments import MdpArguments
from agent2_mdp.facts import read_report, recordings
from agent2_mdp.verification import Inputs, verify
from agent2_schemas import CorrectableError, StatefulSteps, VerificationReport
from agent2_workspace import CandidateFolder, ProjectFolder


async def verify_again(project: ProjectFolder, candidate: CandidateFolder) -> VerificationReport:
    """Verify a candidate as `write_mdp` did when it was written.

    Raises:
        CorrectableError: it was never written whole.
        PrerequisiteError: the check does not work on this machine.
    """
    arguments = stored_arguments(project, candidate)
    inputs = Inputs(environment=read_report(project), recordings=recordings(project))
    return (await verify(candidate.id, candidate.mdp_file, arguments, inputs)).report


def stored_arguments(project: ProjectFolder, candidate: CandidateFolder) -> MdpArguments:
    """Read what `write_mdp` was asked for, from the journal and the file.

    Raises:
        CorrectableError: the journal does not know the candidate.
    """
    events = [event for event in project.journal.events(subject=candidate.id) if event.kind == "candidate-written"]
    if not events or not candidate.mdp_file.exists():
        raise CorrectableError(f"Candidate {candidate.id!r} was not written whole.", "Call write_mdp again.")
    declared = events[-1].payload["declared"]
    steps = {key: value for key, value in declared.items() if key in StatefulSteps.model_fields}
    return MdpArguments(
        code=candidate.mdp_file.read_text(encoding="utf-8"),
        info_keys=tuple(declared["info_keys"]),
        stateful=StatefulSteps.model_validate(steps),
        reward_scale=declared["reward_scale"],
    )
