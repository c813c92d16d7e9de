"""The training server: its eight tools, three prompts and one resource, each a few lines around the room that works."""

from typing import Annotated, Literal

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field, JsonValue

from agent2_schemas import (
    AlgorithmCards,
    AlgorithmName,
    DesignWritten,
    Evaluation,
    Identifier,
    Lease,
    ProjectName,
    RunStatus,
    TargetExported,
    TrainingSuggestions,
)
from agent2_serving import DESTROY, READ, WRITE, LongCalls, Server, reply
from agent2_training import designs, prompts
from agent2_training.evaluation.calls import EvaluationCalls, describe_evaluation
from agent2_training.evaluation.evaluations import Mode
from agent2_training.export.calls import ExportCalls, describe_export
from agent2_training.runs.calls import RunCalls, describe_status
from agent2_training.runs.starting import RunPurpose, RunRequest
from agent2_training.runs.status import read_status
from agent2_training.runs.stopping import StopMode
from agent2_workspace import ProjectFolder, find_workspace

INSTRUCTIONS = """Trains and scores reinforcement-learning agents. Order: suggest_training, write_training, start_training,
check_training (wait_seconds=25) until it has ended, evaluate_run, export_target. A tool that answers state="running"
continues when the same call is made again. Scores come from evaluate_run alone; what a run reports of itself is no score."""

EvaluationPurpose = Literal["selection", "verdict", "fresh"]
Episodes = Annotated[int, Field(ge=1, le=1000, description="Episodes, each on a seed of its own.")]
Budget = Annotated[int, Field(ge=1, description="Environment steps of one full training.")]
CheckpointName = Annotated[str, Field(pattern=r"^(latest|best|[0-9]{1,15})$", description="latest, best or env steps.")]


def build_server() -> Server:
    """Build the server; each call gives a new one."""
    server = Server("training", instructions=INSTRUCTIONS)
    calls = LongCalls()
    evaluations = EvaluationCalls(calls)
    _add_design_tools(server)
    _add_run_tools(server, RunCalls())
    _add_score_tools(server, evaluations, ExportCalls(calls, evaluations))
    _add_prompts(server)
    return server.sealed()


def _project(name: str) -> ProjectFolder:
    return find_workspace(for_server=True).project(name)


def _add_design_tools(server: Server) -> None:
    @server.tool(title="List the algorithms", annotations=READ)
    def list_algorithms(project: ProjectName | Literal[""] = "") -> Annotated[CallToolResult, AlgorithmCards]:
        """List the learning algorithms; with a project, say which can act in its action space."""
        cards = designs.list_algorithms(_project(project) if project else None)
        fitting = [card.name for card in cards.algorithms if card.is_applicable is not False]
        return reply(f"{'Fitting' if project else 'Known'}: {', '.join(fitting)}.", cards)

    @server.tool(title="Suggest training settings", annotations=READ)
    def suggest_training(
        project: ProjectName, algorithm: AlgorithmName | Literal[""] = "", budget_env_steps: Budget = 100_000
    ) -> Annotated[CallToolResult, TrainingSuggestions]:
        """Published settings for the project's environment, best first, ready for write_training.

        For each algorithm that fits there is a tuned preset and the library default.
        """
        answer = designs.suggest_training(_project(project), algorithm, budget_env_steps)
        best = answer.suggestions[0]
        return reply(f"{len(answer.suggestions)} settings; first: {best.algorithm} {best.name}. {best.reason}", answer)

    @server.tool(title="Write the training design", annotations=WRITE)
    def write_training(
        project: ProjectName,
        candidate: Identifier,
        algorithm: str,
        network: dict[str, JsonValue] = {},  # noqa: B006 (published as the default; never changed)
        hyperparameters: dict[str, JsonValue] = {},  # noqa: B006
        budget_env_steps: Budget = 100_000,
        normalise_observation: Literal["", "none", "running", "warmup"] = "",
        reward_scale: Annotated[float, Field(gt=0)] | None = None,
        title: str = "",
        sources: list[str] = [],  # noqa: B006
    ) -> Annotated[CallToolResult, DesignWritten]:
        """Complete a candidate's design: algorithm, networks, hyperparameters, budget.

        What is left out comes from the tuned preset. All findings come at once; where one is an error, nothing is
        written.
        """
        folder = _project(project)
        answer = designs.write_training(
            folder,
            folder.candidate(candidate),
            algorithm=algorithm,
            network=network,
            hyperparameters=hyperparameters,
            budget_env_steps=budget_env_steps,
            normalise_observation=normalise_observation,
            reward_scale=reward_scale,
            title=title,
            sources=tuple(sources),
        )
        return reply(designs.describe_design(answer), answer)


def _add_run_tools(server: Server, runs: RunCalls) -> None:
    @server.tool(title="Start a training run", annotations=WRITE)
    async def start_training(
        project: ProjectName,
        candidate: Identifier,
        budget_env_steps: Budget | None = None,
        seed_index: Annotated[int, Field(ge=0, le=9999, description="Which training seed of the project.")] = 0,
        purpose: RunPurpose = "search",
        lease: Annotated[Lease, Field(description="keep: goes on without this server; stop: ends with it.")] = "keep",
        resume_from: Annotated[str, Field(description="Run whose last checkpoint it goes on from.")] = "",
        idempotency_key: Annotated[str, Field(max_length=200, description="Equal keys give the same run.")] = "",
    ) -> Annotated[CallToolResult, RunStatus]:
        """Train a verified candidate in the background; answers at once. Follow it with check_training."""
        request = RunRequest(
            project=project,
            candidate=candidate,
            budget_env_steps=budget_env_steps,
            seed_index=seed_index,
            purpose=purpose,
            lease=lease,
            resume_from=resume_from,
            idempotency_key=idempotency_key,
        )
        status = await runs.start(request)
        return reply(describe_status(status), status)

    @server.tool(title="Check a training run", annotations=READ)
    async def check_training(
        project: ProjectName,
        run: Identifier,
        ctx: Context,
        wait_seconds: Annotated[float, Field(ge=0, le=30, description="Wait at most this long for its end.")] = 0,
    ) -> Annotated[CallToolResult, RunStatus]:
        """How a run stands: state, progress, checkpoints, and for a failed one the end of its log."""
        status = await runs.check(project, run, wait_seconds, ctx)
        return reply(describe_status(status), status)

    @server.tool(title="Stop a training run", annotations=DESTROY)
    async def stop_training(
        project: ProjectName, run: Identifier, mode: StopMode = "stop"
    ) -> Annotated[CallToolResult, RunStatus]:
        """End a run after a last checkpoint. pause: to be taken up with start_training(resume_from); stop: for good."""
        status = await runs.stop(project, run, mode)
        return reply(describe_status(status), status)

    @server.resource("run://{project}/{run}", title="A training run", mime_type="application/json")
    def run_status(project: str, run: str) -> str:
        """How a run stands, as check_training tells it."""
        folder = _project(project)
        return read_status(folder, folder.run(run)).model_dump_json()


def _add_score_tools(server: Server, evaluations: EvaluationCalls, exports: ExportCalls) -> None:
    @server.tool(title="Score a checkpoint", annotations=WRITE)
    async def evaluate_run(
        project: ProjectName,
        run: Identifier,
        ctx: Context,
        purpose: EvaluationPurpose = "selection",
        episodes: Episodes = 20,
        mode: Mode = "deterministic",
        checkpoint: CheckpointName = "latest",
    ) -> Annotated[CallToolResult, Evaluation]:
        """Score a checkpoint by its original returns in the true environment, on secret seeds.

        selection: to search and choose; verdict: to compare re-trained designs; fresh: seeds never used before. While
        it answers running, make the same call again.
        """
        folder = _project(project)
        evaluation = await evaluations.evaluate_run(
            folder, folder.run(run), checkpoint=checkpoint, purpose=purpose, mode=mode, episodes=episodes, ctx=ctx
        )
        return reply(describe_evaluation(evaluation), evaluation)

    @server.tool(title="Deliver the agent", annotations=WRITE)
    async def export_target(
        project: ProjectName,
        run: Identifier,
        ctx: Context,
        checkpoint: CheckpointName = "best",
        episodes: Episodes = 20,
    ) -> Annotated[CallToolResult, TargetExported]:
        """Pack a checkpoint as a Target Agent: a folder that runs without Agent².

        It comes with its score on seeds used for nothing else. While it answers running, make the same call again.
        """
        folder = _project(project)
        answer = await exports.export_target(folder, folder.run(run), checkpoint=checkpoint, episodes=episodes, ctx=ctx)
        return reply(describe_export(answer), answer)


def _add_prompts(server: Server) -> None:
    @server.prompt(title="Choose the algorithm")
    def select_algorithm(project: str, candidate: str = "") -> str:
        """Choose the learning algorithm for a project, from its facts and published settings."""
        folder = _project(project)
        chosen = folder.candidate(candidate) if candidate else None
        cards = designs.list_algorithms(folder).algorithms
        return prompts.select_algorithm(
            folder, chosen, cards, designs.suggest_training(folder, "", 100_000).suggestions
        )

    @server.prompt(title="Design the networks")
    def design_network(project: str, candidate: str) -> str:
        """Design actor and critic of a candidate whose algorithm is chosen."""
        folder = _project(project)
        chosen = folder.candidate(candidate)
        return prompts.design_network(folder, chosen, chosen.read_design())

    @server.prompt(title="Tune the hyperparameters")
    def tune_hyperparameters(project: str, candidate: str) -> str:
        """Propose the next hyperparameters of a candidate: at most five changes, each small."""
        folder = _project(project)
        chosen = folder.candidate(candidate)
        return prompts.tune_hyperparameters(folder, chosen, chosen.read_design())
