"""Can an episode end at all? What the text of `step` says."""

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any


def never_ends(step: Callable[..., Any]) -> bool:
    """Whether every `return` of a step function says, literally, that the episode goes on.

    False where the source is not known or anything is computed: only what is written down is judged.
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(step)))
    except (OSError, TypeError, SyntaxError):
        return False
    answers = [node.value for node in ast.walk(tree) if isinstance(node, ast.Return)]
    return bool(answers) and all(isinstance(answer, ast.Tuple) and _goes_on(answer) for answer in answers)


def _goes_on(answer: ast.Tuple) -> bool:
    flags = answer.elts[2:-1]
    return len(answer.elts) in (4, 5) and all(isinstance(flag, ast.Constant) and flag.value is False for flag in flags)
