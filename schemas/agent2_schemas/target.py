"""The manifest of a delivered Target Agent."""

from pydantic import Field

from agent2_schemas.design import AlgorithmName
from agent2_schemas.environment import EnvironmentReference
from agent2_schemas.evaluation import Evaluation
from agent2_schemas.model import Frozen, ProjectName


class TargetManifest(Frozen):
    """`manifest.json`: what is in the folder, where it came from, what it scores."""

    name: ProjectName = Field(description="Name of the agent: the project's.")
    task: str = Field(description="What the user wanted, in words.")
    environment: EnvironmentReference = Field(description="The environment it acts in.")
    environment_sha256: str = Field(description="Hash of that environment at training.")
    algorithm: AlgorithmName = Field(description="Algorithm that trained it.")
    candidate_id: str = Field(description="Candidate it comes from.")
    run_id: str = Field(description="Run it comes from.")
    checkpoint_env_steps: int = Field(ge=0, description="Environment steps of its checkpoint.")
    training_seed: int = Field(ge=0, description="Seed of its training.")
    card: Evaluation | None = Field(description="Its own score, on seeds used once.")
    card_stochastic: Evaluation | None = Field(default=None, description="The same seeds with sampled actions.")
    agent2_version: str = Field(description="Version that packed it.")
    created_at: str = Field(description="UTC time of packing, ISO 8601.")
    packages: dict[str, str] = Field(description="Versions of the packages at training.")
    files: dict[str, str] = Field(description="SHA-256 of every other file in the folder, by relative path.")
