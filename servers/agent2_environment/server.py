"""The environment server: five tools, a prompt and a resource about environments."""

import json
from typing import Annotated, Literal

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field, JsonValue

from agent2_environment.analysis import analysis_prompt
from agent2_environment.episodes import Policy, render, sample
from agent2_environment.families import list_families
from agent2_environment.inspection import Wish, inspect
from agent2_environment.source_text import read_source
from agent2_environment.summaries import concise, inspection_text
from agent2_schemas import (
    EnvironmentFamilies,
    EpisodeSamples,
    Inspection,
    ProjectName,
    RenderedEpisode,
    SourceText,
)
from agent2_serving import READ, WRITE, LongCalls, Server, reply
from agent2_workspace import find_workspace

INSTRUCTIONS = """Facts about one reinforcement-learning environment. Begin with inspect_environment(environment, project=…):
it measures spaces, returns, cost and faults in a child process and opens the project that the other servers work on.
Then read the source (read_environment_source) and go on with suggest_mdp of the mdp server. `running` in an answer means:
make the same call again."""

FAMILIES_URI = "agent2://environments/families"
AGAIN = "Make the same call again; it continues."

Environment = Annotated[
    str,
    Field(
        min_length=1,
        max_length=500,
        description="Gymnasium id, `package.module:EnvId`, `package.module:Class`, `path/file.py:Class` or `path/file.py`; "
        "several agents: a PettingZoo module, `path/file.py:parallel_env`, `smax:3m`, `skirmish:3v3`.",
    ),
]
Arguments = Annotated[dict[str, JsonValue], Field(description="Keyword arguments of the environment, as JSON.")]
Limit = Annotated[int | None, Field(ge=1, description="Time limit in environment steps; null: the environment's own.")]
NewProject = Annotated[str, Field(max_length=64, description="Open a project of this name; empty: only look.")]
Task = Annotated[str, Field(max_length=20_000, description="What the user wants, in words; kept in the project.")]
Knowledge = Annotated[str, Field(max_length=50_000, description="Constraints and prior knowledge, in words.")]
Seed = Annotated[int, Field(ge=0, description="Root of all seed lists of the project.")]
FirstLine = Annotated[int, Field(ge=1, description="Number of the first line.")]
MaxLines = Annotated[int, Field(ge=1, le=1000, description="Lines at most.")]
Episodes = Annotated[int, Field(ge=1, le=200, description="Episodes to play.")]
FixedPolicy = Annotated[Policy, Field(description="random: uniform actions; zero: the action nearest to zero.")]


def build_server() -> Server:
    """Build the server; each call gives a new one."""
    server = Server("environment", instructions=INSTRUCTIONS)
    _add_looking(server)
    _add_playing(server)
    return server.sealed()


def _add_looking(server: Server) -> None:
    calls = LongCalls()

    @server.tool(title="List environment families", annotations=READ)
    async def list_environments(
        family: Annotated[str, Field(description="One family, to list all of it; empty: all families.")] = "",
    ) -> Annotated[CallToolResult, EnvironmentFamilies]:
        """List the families of environments, what is installed, and the line that installs the rest."""
        found = await list_families(family)
        lines = [
            f"{one.name}: {one.count} environments" if one.is_installed else f"{one.name}: {one.install}"
            for one in found.families
        ]
        return reply("\n".join(lines), found)

    @server.tool(title="Inspect an environment", annotations=WRITE)
    async def inspect_environment(
        environment: Environment,
        ctx: Context,
        keyword_arguments: Arguments = {},  # noqa: B006 - never changed, and the schema shows the default
        max_episode_steps: Limit = None,
        project: NewProject = "",
        task: Task = "",
        context: Knowledge = "",
        seed: Seed = 0,
        detail: Annotated[
            Literal["concise", "full"], Field(description="full: all observation entries and info keys.")
        ] = "concise",
    ) -> Annotated[CallToolResult, Inspection]:
        """Measure an environment in a child process and report all that is wrong with it; with `project`, open a project.

        Spaces, time limit, returns under random and zero policies, cost, reproducibility, info, source, findings. An
        opened project keeps a snapshot of a file environment. The same call again re-uses the report while the
        environment is unchanged.
        """
        workspace = find_workspace(for_server=True)
        wish = Wish(
            environment=environment,
            keyword_arguments=keyword_arguments,
            max_episode_steps=max_episode_steps,
            project=project,
            task=task,
            context=context,
            seed=seed,
        )
        key = json.dumps([str(workspace.root), repr(wish)])
        found = await calls.result(key, lambda: inspect(wish, workspace), ctx=ctx)
        if found is None:
            found = Inspection(state="running", message="The inspection is still at work.", next_step=AGAIN)
        return reply(inspection_text(found), found if detail == "full" else concise(found))

    @server.tool(title="Read an environment's source", annotations=READ)
    def read_environment_source(
        project: ProjectName, first_line: FirstLine = 1, max_lines: MaxLines = 200
    ) -> Annotated[CallToolResult, SourceText]:
        """Read lines of the file that defines a project's environment."""
        text = read_source(find_workspace(for_server=True).project(project), first_line, max_lines)
        return reply(f"{text.file}, lines {first_line} to {text.last_line} of {text.total_lines}:\n{text.text}", text)

    @server.prompt(title="Analyse the problem")
    def analyze_problem(project: str) -> str:
        """Understand task and environment before anything is designed."""
        return analysis_prompt(find_workspace(for_server=True).project(project))

    @server.resource(FAMILIES_URI, title="Environment families", mime_type="application/json")
    async def families() -> str:
        """The families of environments, what is installed, and the line that installs the rest."""
        return (await list_families("")).model_dump_json()


def _add_playing(server: Server) -> None:
    calls = LongCalls()

    @server.tool(title="Sample episodes", annotations=WRITE)
    async def sample_episodes(
        project: ProjectName, ctx: Context, policy: FixedPolicy = "random", episodes: Episodes = 10
    ) -> Annotated[CallToolResult, EpisodeSamples]:
        """Play whole episodes of a fixed policy and record their transitions."""
        folder = find_workspace(for_server=True).project(project)
        key = json.dumps(["sample", str(folder.root), policy, episodes])
        found = await calls.result(key, lambda: sample(folder, policy, episodes), ctx=ctx)
        if found is None:
            found = EpisodeSamples(state="running", message="The episodes are still being played.", next_step=AGAIN)
        known = found.statistics
        text = (
            f"{policy} policy: {known.episodes} episodes, mean original return {known.mean_original_return}, "
            f"mean length {known.mean_length}. {found.message}"
            if known
            else f"{found.message} {AGAIN}"
        )
        return reply(text, found)

    @server.tool(title="Draw an episode", annotations=WRITE)
    async def render_episode(
        project: ProjectName, ctx: Context, policy: FixedPolicy = "random"
    ) -> Annotated[CallToolResult, RenderedEpisode]:
        """Draw one episode of a fixed policy as a video (a picture where no video writer is installed)."""
        folder = find_workspace(for_server=True).project(project)
        key = json.dumps(["render", str(folder.root), policy])
        found = await calls.result(key, lambda: render(folder, policy), ctx=ctx)
        if found is None:
            found = RenderedEpisode(state="running", message="The episode is still being drawn.", next_step=AGAIN)
        text = f"{found.frames} frames in {found.file}, original return {found.original_return}."
        return reply(text if found.file else f"{found.message} {AGAIN}", found)
