"""What the tools of the four servers answer: each a value that suffices without the text beside it."""

from typing import Literal

from pydantic import Field

from agent2_schemas.design import AlgorithmName, Design, MdpPart, NetworkDesign, StatefulSteps
from agent2_schemas.diagnosis import Diagnosis
from agent2_schemas.environment import EnvironmentReport, EpisodeStatistics
from agent2_schemas.evaluation import Evaluation
from agent2_schemas.finding import Finding
from agent2_schemas.hyperparameters import Hyperparameters
from agent2_schemas.model import Frozen, Identifier, Metric, ProjectName
from agent2_schemas.run import RunStatus
from agent2_schemas.verdict import Verdict
from agent2_schemas.verification import VerificationReport

CallState = Literal["running", "finished", "failed"]
"""running: the same call again continues; failed: the message says why."""


class Answer(Frozen):
    """What every answer that may take long has."""

    state: CallState = Field(default="finished", description="running: make the same call again; it continues.")
    message: str = Field(default="", description="What happened, where that needs words.")
    next_step: str = Field(default="", description="Which tool to call next.")


class EnvironmentFamily(Frozen):
    """One family of environments and whether it can be used here."""

    name: str = Field(description="Name of the family.")
    is_installed: bool = Field(description="Whether its packages are installed.")
    install: str = Field(default="", description="The one line that installs it; empty where it is installed.")
    environments: tuple[str, ...] = Field(description="Some or all of its references.")
    count: int = Field(ge=0, description="How many environments it has.")


class EnvironmentFamilies(Answer):
    """Answer of `list_environments`."""

    families: tuple[EnvironmentFamily, ...] = Field(description="The families.")


class Inspection(Answer):
    """Answer of `inspect_environment`."""

    project: str = Field(default="", description="Project it opened, if one was asked for.")
    project_folder: str = Field(default="", description="Absolute path of that project.")
    report: EnvironmentReport | None = Field(default=None, description="The report, once finished.")


class SourceText(Answer):
    """Answer of `read_environment_source`."""

    file: str = Field(description="Absolute path of the file.")
    first_line: int = Field(ge=1, description="Number of the first line given.")
    last_line: int = Field(ge=0, description="Number of the last line given.")
    total_lines: int = Field(ge=0, description="Lines of the file.")
    text: str = Field(description="The lines.")


class EpisodeSamples(Answer):
    """Answer of `sample_episodes`."""

    statistics: EpisodeStatistics | None = Field(default=None, description="Returns and lengths.")
    original_returns: tuple[Metric, ...] = Field(default=(), description="Return of each finished episode.")
    recording: str = Field(default="", description="Absolute path of the recorded transitions (.npz).")


class RenderedEpisode(Answer):
    """Answer of `render_episode`."""

    file: str = Field(default="", description="Absolute path of the video or picture.")
    frames: int = Field(default=0, ge=0, description="Frames drawn.")
    original_return: Metric = Field(default=None, description="Return of the episode.")


class MdpSuggestion(Frozen):
    """One published prior that applies to this environment, ready to hand to `write_mdp`."""

    name: str = Field(description="Stable kebab-case name of the prior.")
    parts: tuple[MdpPart, ...] = Field(description="Functions its code defines; empty where it only declares.")
    code: str = Field(default="", description="Complete text of mdp.py; empty where it only declares.")
    stateful: StatefulSteps = Field(default_factory=StatefulSteps, description="Declared steps to go with it.")
    info_keys: tuple[str, ...] = Field(default=(), description="Keys of info its reward reads.")
    reward_scale: float = Field(default=1.0, gt=0, description="Constant that multiplies the learning reward.")
    reason: str = Field(description="Which measured fact calls for it.")
    source: str = Field(description="Where the prior was published.")


class MdpSuggestions(Answer):
    """Answer of `suggest_mdp`: the first suggestion is always the unchanged MDP."""

    suggestions: tuple[MdpSuggestion, ...] = Field(description="Best first after the unchanged one.")


class CandidateWritten(Answer):
    """Answer of `write_mdp`."""

    candidate_id: Identifier = Field(description="The candidate.")
    report: VerificationReport | None = Field(default=None, description="All findings, once finished.")


class PreviewRow(Frozen):
    """One quantity before and after the transforms."""

    name: str = Field(description="Observation entry, action entry or reward component.")
    before_mean: Metric = Field(
        default=None, description="Mean in the environment; null where there is no counterpart."
    )
    before_std: Metric = Field(default=None, description="Standard deviation in the environment.")
    before_min: Metric = Field(default=None, description="Smallest value in the environment.")
    before_max: Metric = Field(default=None, description="Largest value in the environment.")
    after_mean: Metric = Field(default=None, description="Mean as the agent sees it; null where it is dropped.")
    after_std: Metric = Field(default=None, description="Standard deviation as the agent sees it.")
    after_min: Metric = Field(default=None, description="Smallest value as the agent sees it.")
    after_max: Metric = Field(default=None, description="Largest value as the agent sees it.")


class MdpPreview(Answer):
    """Answer of `preview_mdp`."""

    candidate_id: Identifier = Field(description="The candidate.")
    rows: tuple[PreviewRow, ...] = Field(default=(), description="One per observation entry and reward component.")
    plot: str = Field(default="", description="Absolute path of the plot (PNG); empty where plotting is not installed.")


class CandidateText(Answer):
    """Answer of `read_candidate`."""

    candidate_id: Identifier = Field(description="The candidate.")
    code: str = Field(description="Text of mdp.py.")
    design: Design | None = Field(default=None, description="The design, once write_training was called.")
    verification: VerificationReport | None = Field(default=None, description="Newest verification.")


class AlgorithmCard(Frozen):
    """What one algorithm can do, as data."""

    name: AlgorithmName = Field(description="Name of the algorithm.")
    title: str = Field(description="Full name.")
    paper: str = Field(description="Where it was published.")
    is_on_policy: bool = Field(description="Whether it learns from its newest rollouts only.")
    action_kinds: tuple[Literal["box", "discrete"], ...] = Field(description="Action spaces it can act in.")
    suits: str = Field(description="When it is the better choice, in one sentence.")
    is_applicable: bool | None = Field(
        default=None, description="Whether it fits the project's action space; null: no project."
    )


class AlgorithmCards(Answer):
    """Answer of `list_algorithms`."""

    algorithms: tuple[AlgorithmCard, ...] = Field(description="The catalogue.")


class TrainingSuggestion(Frozen):
    """One published setting for this environment and action space."""

    name: str = Field(description="`library default`, `tuned preset`, or the name of another prior.")
    algorithm: AlgorithmName = Field(description="The algorithm.")
    network: NetworkDesign = Field(description="The networks.")
    hyperparameters: Hyperparameters = Field(description="The hyperparameters.")
    normalise_observation: Literal["none", "running", "warmup"] = Field(
        description="Declared normalisation to go with it."
    )
    reward_scale: float = Field(default=1.0, gt=0, description="Constant reward scale to go with it.")
    suggested_env_steps: int = Field(
        ge=1, description="Steps after which published runs of this kind have levelled off."
    )
    reason: str = Field(description="Why it fits.")
    source: str = Field(description="Where it was published.")


class TrainingSuggestions(Answer):
    """Answer of `suggest_training`: best first; one is named `library default`, one `tuned preset`."""

    suggestions: tuple[TrainingSuggestion, ...] = Field(description="For every applicable algorithm, best first.")


class DesignWritten(Answer):
    """Answer of `write_training`."""

    candidate_id: Identifier = Field(description="The candidate.")
    design: Design | None = Field(default=None, description="The complete design; null where a finding is an error.")
    findings: tuple[Finding, ...] = Field(default=(), description="All findings at once.")


class TargetExported(Answer):
    """Answer of `export_target`."""

    project: ProjectName = Field(description="The project.")
    run_id: Identifier = Field(description="The run that is delivered.")
    folder: str = Field(default="", description="Absolute path of the Target Agent.")
    card: Evaluation | None = Field(default=None, description="The agent's own score.")


class RunList(Answer):
    """Answer of `list_runs`."""

    runs: tuple[RunStatus, ...] = Field(description="Oldest first.")
    evaluations: tuple[Evaluation, ...] = Field(
        default=(), description="Finished evaluations of these runs, without single returns."
    )


class DiagnosisAnswer(Answer):
    """Answer of `diagnose_run`."""

    diagnosis: Diagnosis | None = Field(default=None, description="Findings, healthy rules, unchecked rules.")


class RankedCandidate(Frozen):
    """One candidate's place in a search."""

    candidate_id: Identifier = Field(description="The candidate.")
    run_ids: tuple[Identifier, ...] = Field(description="Its evaluated runs.")
    scores: tuple[Metric, ...] = Field(description="Mean original return of each run.")
    mean: Metric = Field(description="Mean of the scores.")
    shrunken_mean: Metric = Field(description="Mean shrunken towards the mean of all candidates by the pooled noise.")


class RunComparison(Answer):
    """Answer of `compare_runs`."""

    ranking: tuple[RankedCandidate, ...] = Field(default=(), description="Candidates, best shrunken mean first.")
    pooled_noise: Metric = Field(default=None, description="Pooled standard deviation of a candidate's run scores.")
    verdict: Verdict | None = Field(default=None, description="The verdict, where arms were given.")


class CurvesPlot(Answer):
    """Answer of `plot_curves`."""

    file: str = Field(default="", description="Absolute path of the picture (PNG).")


class ReportWritten(Answer):
    """Answer of `write_report`."""

    file: str = Field(default="", description="Absolute path of report.html.")
