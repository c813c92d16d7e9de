"""Which keys of `info` the code of `reward` names, and whether they are declared."""

import ast
from collections.abc import Iterator

from agent2_schemas import Finding


def check_info_keys(tree: ast.Module, declared: tuple[str, ...]) -> list[Finding]:
    """Name each undeclared key that `reward` takes from its info, with the line.

    Args:
        tree: the parsed mdp.py.
        declared: `info_keys`; each comes with a presence mask `<key>_present`.
    """
    allowed = {*declared, *(f"{key}_present" for key in declared)}
    findings: dict[tuple[str, int], Finding] = {}
    for key, line in _named_keys(tree):
        if key in allowed or (key, line) in findings:
            continue
        shown = ", ".join(declared) or "none"
        findings[key, line] = Finding(
            code="info-key-not-declared",
            severity="error",
            message=f"reward reads info[{key!r}], which is not declared (declared: {shown}).",
            advice=f'Pass info_keys=["{key.removesuffix("_present")}", …] to write_mdp.',
            file="mdp.py",
            line=line,
        )
    return list(findings.values())


def _named_keys(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef) or function.name != "reward" or len(function.args.args) < 7:
            continue
        info = function.args.args[6].arg
        for node in ast.walk(function):
            key = _key_of(node, info)
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, key.lineno


def _key_of(node: ast.AST, info: str) -> ast.expr | None:
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == info:
        return node.slice
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
        owner = node.func.value
        return node.args[0] if isinstance(owner, ast.Name) and owner.id == info else None
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
        owner = node.comparators[0]
        return node.left if isinstance(owner, ast.Name) and owner.id == info else None
    return None
