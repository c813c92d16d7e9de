"""What `write_mdp` was asked to write, as one value."""

from pydantic import Field

from agent2_mdp.contract import EMPTY_CODE
from agent2_schemas import Frozen, StatefulSteps
from agent2_workspace import sha256_of


class MdpArguments(Frozen):
    """Arguments of `write_mdp` that describe the candidate."""

    code: str = Field(default="", description="Complete text of mdp.py; empty: no functions.")
    parent: str = Field(default="", description="Candidate it was derived from.")
    title: str = Field(default="", description="What is particular about it, in a few words.")
    info_keys: tuple[str, ...] = Field(default=(), description="Numeric keys of info that `reward` reads.")
    stateful: StatefulSteps = Field(default_factory=StatefulSteps, description="Declared steps.")
    reward_scale: float = Field(default=1.0, description="Constant that multiplies the learning reward.")

    @property
    def text(self) -> str:
        """What stands in mdp.py."""
        return self.code if self.code.strip() else EMPTY_CODE

    @property
    def sha256(self) -> str:
        """Hash of all arguments."""
        return sha256_of(self.model_dump_json())
