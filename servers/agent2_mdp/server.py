"""The MDP server: its four tools, four prompts and two resources."""

from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field

from agent2_mdp import reverifying
from agent2_mdp.arguments import MdpArguments
from agent2_mdp.facts import open_project, read_report, recordings
from agent2_mdp.faults import FAULT_CODE
from agent2_mdp.measuring import measure
from agent2_mdp.previewing import preview
from agent2_mdp.prompts import design_prompt, repair_prompt, text
from agent2_mdp.suggestions import suggest
from agent2_mdp.writing import Written, check_arguments, find_written, new_candidate, write_candidate
from agent2_schemas import (
    CandidateText,
    CandidateWritten,
    MdpPreview,
    MdpSuggestions,
    ProjectName,
    StatefulSteps,
    VerificationReport,
)
from agent2_serving import READ, WRITE, LongCalls, Server, reply
from agent2_workspace import CandidateFolder, sha256_of

INSTRUCTIONS = """Writes, checks and previews the MDP of an agent: what it observes, how it acts, what it learns from.
Start with suggest_mdp (published priors with measured reasons), read agent2://mdp/contract, then write_mdp: it saves a
candidate, tries it on recorded transitions of the environment in a sandbox and returns all findings at once. The project must have
been opened by inspect_environment. Next: write_training of the training server."""

ProjectArgument = Annotated[ProjectName, Field(description="Project, as inspect_environment opened it.")]
Candidate = Annotated[str, Field(description="Candidate id, e.g. c1.")]


def build_server() -> Server:
    """Build the MDP server."""
    server = Server("mdp", instructions=INSTRUCTIONS)
    _add_suggest(server)
    _add_write(server)
    _add_read(server)
    _add_texts(server)
    return server.sealed()


def _add_suggest(server: Server) -> None:
    calls = LongCalls()

    @server.tool(title="Suggest MDP designs", annotations=READ)
    async def suggest_mdp(project: ProjectArgument, ctx: Context[Any]) -> Annotated[CallToolResult, MdpSuggestions]:
        """Published priors for observation, action and reward that measured facts of this environment call for.

        The first is always the unchanged MDP. Hand code, stateful, info_keys and reward_scale of one to write_mdp.
        """
        folder = open_project(project)
        report, files = read_report(folder), recordings(folder)
        measured = await calls.result(f"suggest {folder.root}", lambda: measure(report, files), ctx=ctx)
        if measured is None:
            return reply("Still measuring; call again.", MdpSuggestions(state="running", suggestions=()))
        suggestions = suggest(measured)
        names = ", ".join(suggestion.name for suggestion in suggestions)
        data = MdpSuggestions(suggestions=suggestions, next_step="write_mdp")
        return reply(f"{len(suggestions)} suggestions: {names}. Next: write_mdp.", data)


def _add_write(server: Server) -> None:
    calls = LongCalls()
    pending: dict[str, str] = {}

    @server.tool(title="Write and verify an MDP", annotations=WRITE)
    async def write_mdp(
        project: ProjectArgument,
        ctx: Context[Any],
        code: Annotated[
            str, Field(description="Complete mdp.py; empty: declared parts only.", max_length=100_000)
        ] = "",
        parent: Annotated[str, Field(description="Candidate it is derived from.")] = "",
        title: Annotated[str, Field(description="What is particular about it.", max_length=200)] = "",
        info_keys: Annotated[list[str], Field(description="Numeric keys of info that reward reads.")] = [],  # noqa: B006
        history: Annotated[int, Field(ge=1, le=64, description="Raw observations handed to observe.")] = 1,
        previous_action: Annotated[bool, Field(description="Append the previous action.")] = False,
        time_left: Annotated[bool, Field(description="Append the share of time left.")] = False,
        action_repeat: Annotated[int, Field(ge=1, le=16, description="Steps each action is held.")] = 1,
        normalise_observation: Literal["none", "running", "warmup"] = "none",
        agent_identity: Annotated[bool, Field(description="Groups of agents: append the agent's index.")] = False,
        reward_scale: Annotated[float, Field(gt=0, description="Constant factor of the learning reward.")] = 1.0,
        idempotency_key: Annotated[
            str, Field(description="The same key gives the same candidate.", max_length=200)
        ] = "",
    ) -> Annotated[CallToolResult, CandidateWritten]:
        """Save a candidate's mdp.py, verify it on recorded transitions, and return all findings at once.

        Read agent2://mdp/contract first. A finding of severity error refuses training: mend the code and call again with
        parent set. Without code, the design is the unchanged MDP with the declared steps.
        """
        folder = open_project(project)
        arguments = MdpArguments(
            code=code,
            parent=parent,
            title=title,
            info_keys=tuple(info_keys),
            stateful=StatefulSteps(
                history=history,
                previous_action=previous_action,
                time_left=time_left,
                action_repeat=action_repeat,
                normalise_observation=normalise_observation,
                agent_identity=agent_identity,
            ),
            reward_scale=reward_scale,
        )
        known = find_written(folder, arguments, idempotency_key)
        if known is not None:
            return _answer(known)
        key = sha256_of(str(folder.root), arguments.sha256, idempotency_key)
        if key not in pending:
            check_arguments(folder, arguments)
            candidate = new_candidate(folder)
            pending[key] = candidate.id
        candidate = folder.candidate(pending[key])
        try:
            written = await calls.result(
                key, lambda: write_candidate(folder, candidate, arguments, idempotency_key), ctx=ctx
            )
        except BaseException:
            pending.pop(key, None)
            raise
        if written is None:
            waiting = CandidateWritten(state="running", candidate_id=candidate.id, next_step="write_mdp, the same call")
            return reply(f"{candidate.id} is being verified; make the same call again.", waiting)
        pending.pop(key, None)
        return _answer(written)


def _answer(written: Written) -> CallToolResult:
    report = written.report
    next_step = "write_training" if report.is_accepted else f'mend it, then write_mdp(parent="{written.candidate_id}")'
    if any(finding.code == FAULT_CODE for finding in report.findings):
        next_step = "agent2 doctor, by a person"
    data = CandidateWritten(candidate_id=written.candidate_id, report=report, next_step=next_step)
    return reply(f"{written.candidate_id} {_verdict(report)} Next: {next_step}.", data)


def _verdict(report: VerificationReport) -> str:
    errors = [finding for finding in report.findings if finding.severity == "error"]
    warnings = [finding for finding in report.findings if finding.severity == "warning"]
    word = "accepted" if report.is_accepted else "rejected"
    shown = [
        f"{finding.code}{f' at line {finding.line}' if finding.line else ''}: {finding.message}"
        for finding in (errors or warnings)[:2]
    ]
    return f"{word}: {len(errors)} errors, {len(warnings)} warnings. {' '.join(shown)}".strip()


def _add_read(server: Server) -> None:
    calls = LongCalls()

    @server.tool(title="Preview an MDP", annotations=READ)
    async def preview_mdp(
        project: ProjectArgument, candidate: Candidate, ctx: Context[Any]
    ) -> Annotated[CallToolResult, MdpPreview]:
        """Compare observation, action and reward before and after the transforms, as a table and a plot."""
        folder = open_project(project)
        chosen = folder.candidate(candidate)
        found = await calls.result(f"preview {chosen.root}", lambda: preview(folder, chosen), ctx=ctx)
        if found is None:
            return reply("Still comparing; call again.", MdpPreview(state="running", candidate_id=chosen.id))
        plot = f" Plot: {found.plot}" if found.plot else ""
        return reply(f"{len(found.rows)} quantities before and after.{plot}", found)

    @server.tool(title="Read a candidate", annotations=READ)
    async def read_candidate(
        project: ProjectArgument,
        candidate: Candidate,
        ctx: Context[Any],
        verify_again: Annotated[bool, Field(description="Verify the stored code anew; nothing is written.")] = False,
    ) -> Annotated[CallToolResult, CandidateText]:
        """The mdp.py of a candidate, its newest verification report, and its design once write_training was called.

        verify_again gives the report that write_mdp would give now: recordings of a better policy may have come since.
        """
        folder = open_project(project)
        chosen = folder.candidate(candidate)
        if not verify_again:
            return _text_of(chosen, chosen.read_verification() if chosen.verification_file.exists() else None)
        report = await calls.result(f"verify {chosen.root}", lambda: reverifying.verify_again(folder, chosen), ctx=ctx)
        if report is None:
            waiting = CandidateText(state="running", candidate_id=chosen.id, code="")
            return reply(f"{chosen.id} is being verified; make the same call again.", waiting)
        return _text_of(chosen, report)


def _text_of(candidate: CandidateFolder, verification: VerificationReport | None) -> CallToolResult:
    data = CandidateText(
        candidate_id=candidate.id,
        code=candidate.mdp_file.read_text(encoding="utf-8") if candidate.mdp_file.exists() else "",
        design=candidate.read_design() if candidate.design_file.exists() else None,
        verification=verification,
    )
    state = _verdict(verification) if verification else "not verified: call write_mdp again."
    return reply(f"{candidate.id}, {len(data.code.splitlines())} lines, {state}", data)


def _add_texts(server: Server) -> None:
    @server.prompt(title="Design the observation")
    def design_observation(project: str, candidate: str = "") -> str:
        """Design `observe`: task, environment, earlier parts of a candidate, and the contract."""
        return design_prompt("observation", project, candidate)

    @server.prompt(title="Design the action")
    def design_action(project: str, candidate: str = "") -> str:
        """Design `act`: task, environment, earlier parts of a candidate, and the contract."""
        return design_prompt("action", project, candidate)

    @server.prompt(title="Design the reward")
    def design_reward(project: str, candidate: str = "") -> str:
        """Design `reward` or `potential`: task, environment, earlier parts of a candidate, and the contract."""
        return design_prompt("reward", project, candidate)

    @server.prompt(title="Repair the code")
    def repair_code(project: str, candidate: str) -> str:
        """Mend a candidate from its findings and its numbered code."""
        return repair_prompt(project, candidate)

    @server.resource("agent2://mdp/contract", title="Contract of mdp.py", mime_type="text/markdown")
    def contract() -> str:
        """What the functions of mdp.py are handed and must return."""
        return text("contract.md")

    @server.resource("agent2://mdp/transforms", title="Declared transforms", mime_type="text/markdown")
    def transforms() -> str:
        """The declared steps that keep state, and when each helps."""
        return text("transforms.md")
