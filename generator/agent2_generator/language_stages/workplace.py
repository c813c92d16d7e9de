"""What every stage works with: the servers of one project, the asker, and drafts verified before any training."""

import re
from dataclasses import dataclass, field

from agent2_generator.designer import Facts, Rejection
from agent2_generator.language.asking import Asker
from agent2_generator.options import DesignPart
from agent2_generator.recipe import Recipe
from agent2_generator.servers import Servers
from agent2_generator.understand import training_rejection
from agent2_schemas import CandidateWritten, CorrectableError, DesignWritten, RunFailed

OWN_PREFIX = "model-"
"""How the keys of recipes begin that a language model designed."""
FUNCTIONS_OF: dict[DesignPart, frozenset[str]] = {
    "observation": frozenset({"observe", "observe_state"}),
    "action": frozenset({"act", "action_mask"}),
    "reward": frozenset({"reward", "potential"}),
}
SUSPICIOUS_FAILURES = 2
"""So many designs that end in the same findings call for a look at the environment and the installation."""
_KNOWN_GOOD = '''"""The original reward, unchanged: verification must accept it."""

REWARD_WEIGHTS = {"original": 1.0}


def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):
    return {"original": original_reward}
'''


class VerificationBroken(RunFailed):
    """Verification refuses code that is known to be good: the fault is not the model's."""


@dataclass
class Workplace:
    """One project while a language model designs for it."""

    project: str
    servers: Servers
    asker: Asker
    failures: dict[frozenset[tuple[str, str]], set[str]] = field(
        default_factory=dict[frozenset[tuple[str, str]], set[str]]
    )
    """Which designs ended in which findings."""

    async def prompt(self, server: str, name: str, **arguments: str) -> str:
        """Fetch a prompt of this project."""
        return await self.servers.get_prompt(server, name, project=self.project, **arguments)

    async def draft_mdp(self, recipe: Recipe) -> tuple[str, Rejection | None]:
        """Write a recipe's MDP as a draft and verify it; the same recipe gives the same draft.

        Returns:
            Id of the draft candidate, and what was refused.
        """
        written = await self.servers.call(
            "mdp", "write_mdp", CandidateWritten, project=self.project, **recipe.mdp_arguments()
        )
        findings = written.report.findings if written.report else ()
        errors = tuple(each for each in findings if each.severity == "error")
        rejection = Rejection(candidate_id=written.candidate_id, stage="mdp", findings=findings) if errors else None
        return written.candidate_id, rejection

    async def draft_training(self, recipe: Recipe, candidate_id: str) -> Rejection | None:
        """Write a recipe's algorithm, network and hyperparameters into a draft."""
        try:
            design = await self.servers.call(
                "training",
                "write_training",
                DesignWritten,
                may_fail=True,
                project=self.project,
                candidate=candidate_id,
                **recipe.training_arguments(),
            )
        except CorrectableError as error:
            design = DesignWritten(state="failed", candidate_id=candidate_id, message=str(error))
        return training_rejection(design)

    async def suspect(self, key: str, rejection: Rejection) -> None:
        """Note a failed verification; where designs fail alike, try code that is known to be good.

        Raises:
            VerificationBroken: that fails too.
        """
        errors = [each for each in rejection.findings if each.severity == "error"]
        signature = frozenset((each.code, _without_numbers(each.message)) for each in errors)
        alike = self.failures.setdefault(signature, set())
        alike.add(key.partition("~")[0])
        if rejection.stage != "mdp" or len(alike) < SUSPICIOUS_FAILURES:
            return
        try:
            known = await self.servers.call(
                "mdp",
                "write_mdp",
                CandidateWritten,
                project=self.project,
                code=_KNOWN_GOOD,
                title="known to be good: checks the verification itself",
                idempotency_key="recipe-known-good",
            )
            found = [each.message for each in known.report.findings if each.severity == "error"] if known.report else []
        except CorrectableError as error:
            found = [error.message]
        if found:
            raise VerificationBroken(
                f"{len(alike)} designs failed verification in the same way, and so does code that is known to be good: "
                f"{found[0]} The cause lies in the environment or the installation, not in the designs.",
                "Run `agent2 doctor`, and `agent2 inspect` on the environment.",
            )

    def give_up(self, key: str, rejection: Rejection, instead: str) -> None:
        """Record that a draft could not be mended."""
        first = next(each for each in rejection.findings if each.severity == "error")
        self.asker.give_up(key, f"no repair passed verification: {first.code}: {first.message}", instead)


def may_design(facts: Facts, part: DesignPart) -> bool:
    """Whether the person lets this part be designed."""
    return part in facts.options.design_parts


def repairs_of(key: str) -> int:
    """How many repairs a recipe's key counts: `model-3~2` took two."""
    number = key.rpartition("~")[2] if "~" in key else ""
    return int(number) if number.isdigit() else 0


def with_repairs(key: str, repairs: int) -> str:
    """The key of a recipe after so many repairs."""
    stem = key.partition("~")[0]
    return f"{stem}~{repairs}" if repairs else stem


def _without_numbers(text: str) -> str:
    return re.sub(r"\d+(\.\d+)?(e[+-]?\d+)?|'[^']*'|`[^`]*`", "#", text)
