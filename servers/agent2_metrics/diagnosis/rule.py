"""What a rule is: a small function that reads the facts and answers with evidence, or with nothing."""

from collections.abc import Callable
from dataclasses import dataclass, field

from pydantic import JsonValue

from agent2_metrics.diagnosis.facts import Facts
from agent2_schemas import DesignPatch, Severity


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """A rule that fired."""

    symptom: str
    numbers: dict[str, float | None]
    severity: Severity = "warning"
    window: tuple[float, float] | None = None
    """Env steps."""
    cause: str = ""
    """Where it is not the rule's usual one."""
    fixes: tuple[DesignPatch, ...] | None = None
    """Where they are not the rule's usual ones."""


Check = Callable[[Facts], Evidence | None]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One row of the table of rules.

    Attributes:
        name: stable kebab-case name.
        number: its number in the published collection of rules this catalogue follows.
        check: reads the facts; raises `Missing` where it cannot tell.
        cause: most likely cause.
        fixes: changes in the order to try; those whose path the run's design lacks are left out.
        advice: what no patch says.
        source: where it comes from.
    """

    name: str
    number: int
    check: Check
    cause: str
    source: str
    fixes: tuple[DesignPatch, ...] = ()
    advice: str = ""


@dataclass
class RuleBook:
    """The rules of one file, in the order they are written."""

    rules: list[Rule] = field(default_factory=list[Rule])

    def rule(
        self, name: str, number: int, *, cause: str, source: str, fixes: tuple[DesignPatch, ...] = (), advice: str = ""
    ) -> Callable[[Check], Check]:
        """Add the decorated function as a rule."""

        def add(check: Check) -> Check:
            self.rules.append(
                Rule(name=name, number=number, check=check, cause=cause, source=source, fixes=fixes, advice=advice)
            )
            return check

        return add


def times(path: str, factor: float, reason: str = "") -> DesignPatch:
    """A patch that multiplies."""
    return DesignPatch(path=path, operation="multiply", value=factor, reason=reason)


def to(path: str, value: JsonValue, reason: str = "") -> DesignPatch:
    """A patch that sets."""
    return DesignPatch(path=path, operation="set", value=value, reason=reason)


LEARNING_RATE = "hyperparameters.learning_rate"
SCHEDULE = "hyperparameters.learning_rate_schedule"
ENTROPY = "hyperparameters.entropy_coefficient"
EPOCHS = "hyperparameters.epochs"
MINIBATCH = "hyperparameters.minibatch_size"
BATCH = "hyperparameters.batch_size"
GAMMA = "hyperparameters.gamma"
NORMALISE_RETURN = "hyperparameters.normalise_return"
GRADIENT_NORM = "hyperparameters.max_gradient_norm"
NORMALISE_OBSERVATION = "mdp.stateful.normalise_observation"
REWARD_SCALE = "mdp.reward_scale"
LOG_STD = "network.initial_log_std"
LAYER_NORM = "network.layer_norm"
CRITIC_SIZES = "network.critic_hidden_sizes"
