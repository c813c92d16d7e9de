"""The contract of `mdp.py` (DESIGN 4.2) as data: parts, parameters, constants, allowed imports. Standard library only."""

from typing import Final

PARAMETERS: Final[dict[str, tuple[str, ...]]] = {
    "observe": ("observation",),
    "act": ("action", "observation"),
    "action_mask": ("mask",),
    "observe_state": ("state",),
    "reward": (
        "previous_observation", "action", "observation", "original_reward", "terminated", "truncated", "info",
    ),
    "potential": ("observation",),
}  # fmt: skip
"""Parameters of each part, in order."""

CONSTANTS: Final = ("OBSERVATION_SPACE", "ACTION_SPACE", "REWARD_WEIGHTS")
"""Constants that the engine reads."""

CONSTANT_OF_PART: Final = {
    "OBSERVATION_SPACE": "observe",
    "ACTION_SPACE": "act",
    "REWARD_WEIGHTS": "reward",
}
"""A constant means nothing without its part."""

SYNONYMS: Final = {
    "rewards": "reward", "reward_function": "reward", "reward_fn": "reward", "compute_reward": "reward",
    "get_reward": "reward", "calculate_reward": "reward", "custom_reward_function": "reward",
    "observation": "observe", "observations": "observe", "obs": "observe", "get_observation": "observe",
    "observation_transform": "observe", "transform_observation": "observe", "custom_state_transform": "observe",
    "action": "act", "actions": "act", "get_action": "act", "action_transform": "act", "transform_action": "act",
    "custom_action_transform": "act", "mask": "action_mask", "phi": "potential", "potentials": "potential",
}  # fmt: skip
"""Names under which other systems know a part: a function of such a name, called by nobody, is a misspelt part."""

CONSTANT_SYNONYMS: Final = {
    "OBSERVATIONS_SPACE": "OBSERVATION_SPACE", "OBS_SPACE": "OBSERVATION_SPACE", "ACTIONS_SPACE": "ACTION_SPACE",
    "REWARD_WEIGHT": "REWARD_WEIGHTS", "WEIGHTS": "REWARD_WEIGHTS",
}  # fmt: skip
"""Likewise for constants."""

ALLOWED_MODULES: Final = frozenset(
    {
        "__future__", "abc", "bisect", "cmath", "collections", "copy", "dataclasses", "decimal", "enum", "fractions",
        "functools", "heapq", "itertools", "math", "numbers", "numpy", "operator", "statistics", "string", "types",
        "typing",
    }
)  # fmt: skip
"""Modules that pure array code needs: NumPy and the computing part of the standard library."""

MODULE_ADVICE: Final = {
    "torch": "The delivered agent runs mdp.py with NumPy only: write it with NumPy.",
    "tensorflow": "The delivered agent runs mdp.py with NumPy only: write it with NumPy.",
    "jax": "The delivered agent runs mdp.py with NumPy only: write it with NumPy.",
    "scipy": "SciPy is not part of a delivered agent: write the formula with NumPy.",
    "gymnasium": "Spaces are plain dictionaries here: see the resource agent2://mdp/contract.",
    "gym": "Spaces are plain dictionaries here: see the resource agent2://mdp/contract.",
    "random": "The parts must be deterministic: remove the random numbers.",
    "time": "The parts must not know the time; declare time_left where the policy needs it.",
    "datetime": "The parts must not know the time; declare time_left where the policy needs it.",
}
"""What to do instead of importing these."""

FORBIDDEN_NAMES: Final = frozenset(
    {
        "open", "exec", "eval", "compile", "__import__", "input", "breakpoint", "globals", "locals", "vars", "exit",
        "quit", "__builtins__", "__loader__", "memoryview",
    }
)  # fmt: skip
"""Built-in names that array code has no use for."""

FILE_FUNCTIONS: Final = frozenset(
    {
        "load", "save", "savez", "savez_compressed", "loadtxt", "savetxt", "genfromtxt", "fromfile", "tofile", "memmap",
        "ctypeslib", "DataSource", "fromregex", "open_memmap",
    }
)  # fmt: skip
"""Functions of NumPy that read or write files."""

MAX_CODE_BYTES: Final = 100_000
"""Longest mdp.py, bytes."""

EMPTY_CODE: Final = '"""The MDP is unchanged, or changed by declared parts only."""\n'
"""What stands in mdp.py where no code is given."""

OUTSIDE: Final = "raised in "
"""Begin of the evidence of an error that came from a line outside mdp.py."""
