"""From a reward component that is a difference of one function of the state to the text of `potential`."""

from __future__ import annotations

import ast
import copy
from typing import NamedTuple

MAX_NODES = 2000
"""Larger expressions are not unfolded."""
Parts = tuple[ast.expr, ast.expr]


class Unfolded(NamedTuple):
    """A component as one expression of the parameters of `reward`."""

    expression: ast.expr
    previous: str
    """Name of the parameter that holds the observation before the step."""
    following: str
    """Name of the parameter that holds the observation after it."""
    others: frozenset[str]
    """The other parameters, which a potential must not know."""


def potential_text(code: str, component: str, weight: float) -> str | None:
    """Write `potential` for a component of the form `f(observation) - f(previous_observation)`.

    Args:
        code: text of mdp.py.
        component: key of the component.
        weight: its weight, which goes into the text.

    Returns:
        The text of the function; None where the component does not have this form as written.
    """
    unfolded = _unfold(code, component)
    if unfolded is None:
        return None
    parts = _split(unfolded.expression, unfolded)
    if parts is None:
        return None
    after = _rename(parts[0], unfolded.following)
    before = _rename(parts[1], unfolded.previous)
    if ast.dump(after) != ast.dump(before):
        return None
    value = after if weight == 1.0 else ast.BinOp(ast.Constant(weight), ast.Mult(), after)
    return f"def potential(observation):\n    return {ast.unparse(value)}"


def _unfold(code: str, component: str) -> Unfolded | None:
    tree = ast.parse(code)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "reward"]
    if not functions or len(functions[-1].args.args) < 7:
        return None
    function = functions[-1]
    names = [argument.arg for argument in function.args.args]
    expression = _value_of(function, component)
    local = _assigned_once(function)
    if expression is None or local is None:
        return None
    unfolded = _Inline(local).unfold(expression)
    if unfolded is None:
        return None
    return Unfolded(unfolded, names[0], names[2], frozenset(names) - {names[0], names[2]})


def _value_of(function: ast.FunctionDef, component: str) -> ast.expr | None:
    found: list[ast.expr] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            found += [value for key, value in pairs if isinstance(key, ast.Constant) and key.value == component]
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            key = node.targets[0].slice
            found += [node.value] if isinstance(key, ast.Constant) and key.value == component else []
    return found[0] if len(found) == 1 else None


def _assigned_once(function: ast.FunctionDef) -> dict[str, ast.expr] | None:
    """Give the local variables by name; None where one is assigned twice, so that the order matters."""
    local: dict[str, ast.expr] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.AugAssign | ast.For | ast.While | ast.With | ast.Try):
            return None
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name in local:
                return None
            local[name] = node.value
    return local


class _Inline(ast.NodeTransformer):
    """Puts the expressions of local variables in their places."""

    def __init__(self, local: dict[str, ast.expr]) -> None:
        self._local = local
        self._nodes = 0

    def unfold(self, expression: ast.expr) -> ast.expr | None:
        """Unfold a copy; None where it would grow beyond bounds."""
        unfolded = self.visit(copy.deepcopy(expression))
        return unfolded if self._nodes <= MAX_NODES else None

    def visit_Name(self, node: ast.Name) -> ast.expr:
        self._nodes += 1
        if node.id not in self._local or self._nodes > MAX_NODES:
            return node
        return self.visit(copy.deepcopy(self._local[node.id]))


def _names(expression: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}


def _split(expression: ast.expr, unfolded: Unfolded) -> Parts | None:
    """Split into the part after the step and the part before it, so that the expression is their difference."""
    if isinstance(expression, ast.UnaryOp) and isinstance(expression.op, ast.USub):
        inner = _split(expression.operand, unfolded)
        return inner and (_negative(inner[0]), _negative(inner[1]))
    if not isinstance(expression, ast.BinOp):
        return None
    left, right = expression.left, expression.right
    if isinstance(expression.op, ast.Sub):
        if _is_of(left, unfolded.following, unfolded) and _is_of(right, unfolded.previous, unfolded):
            return left, right
        if _is_of(left, unfolded.previous, unfolded) and _is_of(right, unfolded.following, unfolded):
            return _negative(right), _negative(left)
        return None
    if isinstance(expression.op, ast.Mult | ast.Div) and _is_constant(right, unfolded):
        inner = _split(left, unfolded)
        return inner and (ast.BinOp(inner[0], expression.op, right), ast.BinOp(inner[1], expression.op, right))
    if isinstance(expression.op, ast.Mult) and _is_constant(left, unfolded):
        inner = _split(right, unfolded)
        return inner and (ast.BinOp(left, expression.op, inner[0]), ast.BinOp(left, expression.op, inner[1]))
    return None


def _negative(expression: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.USub(), expression)


def _is_of(expression: ast.expr, parameter: str, unfolded: Unfolded) -> bool:
    """Whether an expression is of one parameter alone."""
    parameters = {unfolded.previous, unfolded.following, *unfolded.others}
    return _names(expression) & parameters == {parameter}


def _is_constant(expression: ast.expr, unfolded: Unfolded) -> bool:
    return not _names(expression) & {unfolded.previous, unfolded.following, *unfolded.others}


def _rename(expression: ast.expr, name: str) -> ast.expr:
    renamed = copy.deepcopy(expression)
    for node in ast.walk(renamed):
        if isinstance(node, ast.Name) and node.id == name:
            node.id = "observation"
    return renamed
