"""What answers must look like: fenced JSON by schema, Python by its syntax; every fault at once, in words for the model."""

import ast
import json
import re
from typing import Any, Literal, TypeVar

from pydantic import Field, ValidationError

from agent2_schemas import AlgorithmName, DesignPatch, Frozen, StatefulSteps

MAX_CODE_CHARACTERS = 60_000
_CODE_BLOCK = re.compile(r"^[ \t]*(`{3,})[ \t]*(\w*)[^\n`]*\n(.*?)^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)
_JSON_NAMES, _PYTHON_NAMES = ("json", "json5", "jsonc"), ("python", "py", "python3")
DECLARED = (
    "history",
    "previous_action",
    "time_left",
    "action_repeat",
    "normalise_observation",
)
"""Declared steps that an answer may set."""

Read = TypeVar("Read", bound=Frozen)


class AnswerRejected(Exception):
    """An answer breaks its form; the model may mend it."""

    def __init__(self, *faults: str) -> None:
        """Keep all faults."""
        super().__init__("; ".join(faults))
        self.faults = faults


class Declarations(Frozen):
    """Declared steps that go with an answer; null leaves the present value."""

    info_keys: tuple[str, ...] | None = Field(default=None, description="Keys of info that the reward reads.")
    history: int | None = Field(default=None, ge=1, le=64)
    previous_action: bool | None = None
    time_left: bool | None = None
    action_repeat: int | None = Field(default=None, ge=1, le=16)
    normalise_observation: Literal["none", "running", "warmup"] | None = None
    reward_scale: float | None = Field(default=None, gt=0)

    def changes(self) -> dict[str, Any]:
        """What is set, by name."""
        given = {name: getattr(self, name) for name in (*DECLARED, "info_keys", "reward_scale")}
        return {name: value for name, value in given.items() if value is not None}

    def stateful(self, present: StatefulSteps) -> StatefulSteps:
        """The declared steps with the changes."""
        changes = {name: value for name, value in self.changes().items() if name in DECLARED}
        return StatefulSteps.model_validate(present.model_dump() | changes)


class MdpAnswer(Declarations):
    """Observation, action or reward; also a repair."""

    decision: Literal["design", "keep"]
    reason: str
    expected_effect: str = ""


class AlgorithmAnswer(Frozen):
    """Which algorithm."""

    algorithm: AlgorithmName
    reason: str
    expected_effect: str = ""
    risk: str = ""


class NetworkAnswer(Frozen):
    """Changed values of the network."""

    network: dict[str, Any]
    reason: str
    expected_effect: str = ""


class Change(Frozen):
    """Why one hyperparameter changes."""

    name: str
    problem: str = ""
    why: str
    expected_effect: str = ""


class HyperparameterAnswer(Frozen):
    """Changed hyperparameters, each with its reason."""

    hyperparameters: dict[str, Any]
    changes: tuple[Change, ...] = ()


class TrainingRepair(Frozen):
    """What mends a refused training design."""

    network: dict[str, Any] = Field(default_factory=dict[str, Any])
    hyperparameters: dict[str, Any] = Field(default_factory=dict[str, Any])
    reason: str


class RefineAnswer(Declarations):
    """The next attempt."""

    action: Literal["patch", "code", "algorithm", "optimiser", "stop"]
    patches: tuple[DesignPatch, ...] = ()
    algorithm: AlgorithmName | None = None
    mends: str = ""
    finding: str = ""
    reason: str
    expected_effect: str = ""


def read_json(text: str, model: type[Read]) -> Read:
    """Read the JSON object of an answer.

    Raises:
        AnswerRejected: there is none, or it breaks the schema; all faults at once.
    """
    blocks = [match[3] for match in _CODE_BLOCK.finditer(text) if match[2].lower() in _JSON_NAMES]
    source = blocks[-1] if blocks else text.strip()
    try:
        data = json.loads(source)
    except ValueError as error:
        where = "The ```json block" if blocks else "The answer has no ```json block, and as a whole it"
        raise AnswerRejected(f"{where} is no JSON: {str(error)[:200]}.") from None
    if not isinstance(data, dict):
        raise AnswerRejected("The JSON is no object.")
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise AnswerRejected(*_in_words(error)) from None


def read_code(text: str) -> str:
    """Read the Python file of an answer; empty where there is none.

    Raises:
        AnswerRejected: it is too long or does not parse.
    """
    blocks = [match[3] for match in _CODE_BLOCK.finditer(text) if match[2].lower() in _PYTHON_NAMES]
    if not blocks:
        return ""
    if len(blocks) > 1:
        raise AnswerRejected(f"There are {len(blocks)} ```python blocks; write exactly one, the complete file.")
    code = blocks[0].rstrip() + "\n"
    if len(code) > MAX_CODE_CHARACTERS:
        raise AnswerRejected(f"The code has {len(code):,} characters; at most {MAX_CODE_CHARACTERS:,}.")
    functions_of(code)
    return code


def functions_of(code: str) -> frozenset[str]:
    """Name the functions that a file defines at its top.

    Raises:
        AnswerRejected: it does not parse.
    """
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        raise AnswerRejected(f"The code does not parse{f' (line {line})' if line else ''}: {error}.") from None
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def _in_words(error: ValidationError) -> list[str]:
    return [
        f"{'.'.join(map(str, each['loc'])) or 'the object'}: {each['msg']}"
        + (" (no such field)" if each["type"] == "extra_forbidden" else "")
        for each in error.errors()
    ]
