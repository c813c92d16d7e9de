"""Which line of `mdp.py` a finding is about, where no traceback tells it: the return, the component's key, the entry."""

import ast
from dataclasses import dataclass, field

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, kw_only=True)
class Lines:
    """Lines of one part, counted from 1."""

    definition: int | None = None
    result: int | None = None
    """Line of the last `return` with a value."""
    keys: dict[str, int] = field(default_factory=dict[str, int])
    """Line at which each reward component gets its value."""
    entries: tuple[tuple[int, ...], ...] = ()
    """Lines of the elements of each list or tuple in the part: that of as many elements as there are features."""

    def of_key(self, name: str) -> int | None:
        """Give the line of a reward component."""
        return self.keys.get(name, self.result)

    def of_entry(self, index: int, count: int) -> int | None:
        """Give the line of one feature among `count`."""
        for lines in reversed(self.entries):
            if len(lines) == count:
                return lines[index]
        return self.result


def find_lines(code: str) -> dict[str, Lines]:
    """Find the lines of every top-level function and constant; {} where the code does not parse."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    found: dict[str, Lines] = {}
    for node in tree.body:
        if isinstance(node, Function):
            found[node.name] = _function_lines(node)
        elif isinstance(node, ast.Assign):
            found |= {name.id: _value_lines(node) for name in node.targets if isinstance(name, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = _value_lines(node)
    return found


def _value_lines(node: ast.Assign | ast.AnnAssign) -> Lines:
    return Lines(definition=node.lineno, result=node.lineno, keys=_keys(node))


def _function_lines(function: Function) -> Lines:
    returns = [node.lineno for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None]
    sequences = sorted(
        (node for node in ast.walk(function) if isinstance(node, ast.List | ast.Tuple)),
        key=lambda node: (node.lineno, node.col_offset),
    )
    return Lines(
        definition=function.lineno,
        result=max(returns, default=function.lineno),
        keys=_keys(function),
        entries=tuple(tuple(element.lineno for element in node.elts) for node in sequences),
    )


def _keys(parent: ast.AST) -> dict[str, int]:
    found: dict[str, int] = {}
    for node in ast.walk(parent):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant):
                    found[str(key.value)] = value.lineno
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
                    found[str(target.slice.value)] = node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
            found |= {word.arg: word.value.lineno for word in node.keywords if word.arg}
    return found
