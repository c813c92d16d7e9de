"""Level 1 of verification: the syntax tree of `mdp.py`. For messages, not for safety: the sandbox is the boundary."""

import ast
import difflib
from collections.abc import Iterator

from agent2_mdp.contract import (
    ALLOWED_MODULES,
    CONSTANT_OF_PART,
    CONSTANT_SYNONYMS,
    CONSTANTS,
    FILE_FUNCTIONS,
    FORBIDDEN_NAMES,
    MAX_CODE_BYTES,
    MODULE_ADVICE,
    PARAMETERS,
    SYNONYMS,
)
from agent2_schemas import Finding, Severity

Function = ast.FunctionDef | ast.AsyncFunctionDef
NOT_RUN = frozenset({"unbounded-loop", "import-not-allowed"})
"""Findings after which the code is not run: it would hang, or load what is not there when the agent is delivered."""


def check_syntax(code: str) -> tuple[ast.Module | None, list[Finding]]:
    """Parse `mdp.py` and look for what can be told without running it.

    Args:
        code: text of the file.

    Returns:
        The tree (None where the text does not parse) and all findings, in line order.
    """
    if len(code.encode()) > MAX_CODE_BYTES:
        return None, [_finding("too-long", f"The code is longer than {MAX_CODE_BYTES} bytes.", "Shorten it.", None)]
    try:
        tree = ast.parse(code, filename="mdp.py")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return None, [_parse_finding(error, code)]
    checks = (_imports, _names, _loops, _misspelt, _signatures, _constants, _state)
    findings = [finding for check in checks for finding in check(tree)]
    return tree, sorted(findings, key=lambda finding: finding.line or 0)


def defined_parts(tree: ast.Module) -> tuple[str, ...]:
    """Name the parts that the module defines at top level, in the order of the contract."""
    names = {name for name, _ in _top_level_names(tree)}
    return tuple(part for part in PARAMETERS if part in names)


def _finding(code: str, message: str, advice: str, line: int | None, severity: Severity = "error") -> Finding:
    return Finding(code=code, severity=severity, message=message, advice=advice, file="mdp.py", line=line)


def _parse_finding(error: Exception, code: str) -> Finding:
    line: int | None = getattr(error, "lineno", None)
    text = getattr(error, "msg", None) or f"{type(error).__name__}: {error}"
    lines: list[str] = code.splitlines()
    shown = lines[line - 1].strip()[:120] if line and 0 < line <= len(lines) else ""
    return Finding(
        code="syntax-error", severity="error", message=f"mdp.py does not parse: {text}.",
        advice="Mend this line; the whole file must be valid Python.", evidence=shown, file="mdp.py", line=line or None,
    )  # fmt: skip


def _imports(tree: ast.Module) -> Iterator[Finding]:
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = ["." * node.level + (node.module or "")]
        for name in names:
            root = name.split(".")[0]
            if root in ALLOWED_MODULES:
                continue
            advice = MODULE_ADVICE.get(root, "Use NumPy, math and the computing modules of the standard library only.")
            yield _finding("import-not-allowed", f"mdp.py imports {name}.", advice, getattr(node, "lineno", None))


def _names(tree: ast.Module) -> Iterator[Finding]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in FORBIDDEN_NAMES:
            message = f"mdp.py uses {node.id}."
            yield _finding("forbidden-name", message, "Compute from the arguments only.", node.lineno)
        elif isinstance(node, ast.Name) and node.id == "print" and isinstance(node.ctx, ast.Load):
            message = "mdp.py prints; it runs at every step."
            yield _finding("prints", message, "Remove the print.", node.lineno, "warning")
        elif isinstance(node, ast.Attribute):
            yield from _attribute(node)


def _attribute(node: ast.Attribute) -> Iterator[Finding]:
    dotted = ast.unparse(node) if _is_plain(node) else f".{node.attr}"
    if node.attr.startswith("__") and node.attr.endswith("__") and node.attr != "__name__":
        yield _finding("forbidden-name", f"mdp.py reaches for {dotted}.", "Use public names only.", node.lineno)
    elif node.attr == "tofile" or (node.attr in FILE_FUNCTIONS and dotted.split(".")[0] in ("np", "numpy")):
        yield _finding("file-access", f"mdp.py calls {dotted}.", "Write constants into the code.", node.lineno)
    elif node.attr == "random" and dotted in ("np.random", "numpy.random"):
        message = "mdp.py draws random numbers; the parts must be deterministic."
        yield _finding("random-numbers", message, "Remove them; exploration belongs to the algorithm.", node.lineno)


def _is_plain(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _loops(tree: ast.Module) -> Iterator[Finding]:
    for node in ast.walk(tree):
        endless = ""
        if isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and node.test.value:
            endless = f"while {node.test.value}"
        elif isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
            name = ast.unparse(node.iter.func).split(".")[-1]
            is_repeat = name == "repeat" and len(node.iter.args) == 1 and not node.iter.keywords
            endless = f"for … in {name}()" if name in ("count", "cycle") or is_repeat else ""
        if endless and isinstance(node, ast.While | ast.For) and not _leaves(node.body):
            message = f"The loop `{endless}` has no way out."
            yield _finding("unbounded-loop", message, "Loop over a range, or use array operations.", node.lineno)


def _leaves(body: list[ast.stmt], *, inner: bool = False) -> bool:
    """Tell whether a loop's body can leave the loop; a `break` of an inner loop does not count."""
    for node in body:
        if isinstance(node, ast.Return | ast.Raise) or (isinstance(node, ast.Break) and not inner):
            return True
        if isinstance(node, Function | ast.ClassDef):
            continue
        deeper = inner or isinstance(node, ast.While | ast.For)
        blocks = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
        blocks += [handler.body for handler in getattr(node, "handlers", [])]
        blocks += [case.body for case in getattr(node, "cases", [])]
        if any(_leaves(block, inner=deeper) for block in blocks):
            return True
    return False


def _top_level_names(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    for node in tree.body:
        if isinstance(node, Function):
            yield node.name, node
        elif isinstance(node, ast.Assign):
            yield from ((target.id, node) for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, node


def _misspelt(tree: ast.Module) -> Iterator[Finding]:
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    defined = {name for name, _ in _top_level_names(tree)}
    for name, node in _top_level_names(tree):
        if name in used or name in PARAMETERS or name in CONSTANTS or name.startswith("_"):
            continue
        is_function = isinstance(node, Function)
        meant = _meant(name, tuple(PARAMETERS), SYNONYMS) if is_function else _meant(name, CONSTANTS, CONSTANT_SYNONYMS)
        if meant and meant not in defined:
            kind = "part" if is_function else "constant"
            message = f"{name} is no {kind} that the engine knows, so it would be ignored; {meant} is missing."
            yield _finding(f"misspelt-{kind}", message, f"Rename it to {meant}.", node.lineno)
        elif is_function:
            message = f"The function {name} is called by nobody."
            advice = f"The engine calls only {', '.join(PARAMETERS)}: rename or remove it."
            yield _finding("unused-function", message, advice, node.lineno, "warning")


def _meant(name: str, known: tuple[str, ...], synonyms: dict[str, str]) -> str:
    if name in synonyms:
        return synonyms[name]
    folded = {item.lower(): item for item in known}
    close = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.78)
    return folded[close[0]] if close else ""


def _signatures(tree: ast.Module) -> Iterator[Finding]:
    for node in tree.body:
        if not isinstance(node, Function) or node.name not in PARAMETERS:
            continue
        if isinstance(node, ast.AsyncFunctionDef) or _yields(node):
            message = f"{node.name} is no plain function: it is asynchronous or yields."
            yield _finding("not-a-plain-function", message, "Return the result with `return`.", node.lineno)
        yield from _parameters(node)
        if not any(isinstance(item, ast.Return) and item.value is not None for item in ast.walk(node)):
            message = f"{node.name} returns nothing."
            yield _finding("returns-nothing", message, "Return the result.", node.lineno)


def _yields(function: Function) -> bool:
    return any(isinstance(item, ast.Yield | ast.YieldFrom) for item in ast.walk(function))


def _parameters(function: Function) -> Iterator[Finding]:
    expected = PARAMETERS[function.name]
    arguments = function.args
    given = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    needed = given[: len(given) - len(arguments.defaults)]
    wanted = f"def {function.name}({', '.join(expected)})"
    bare = [name.lstrip("_") for name in needed]
    missing_defaults = [item for item in arguments.kw_defaults if item is None]
    if len(needed) != len(expected) or missing_defaults or arguments.vararg:
        message = f"{function.name} takes {len(needed)} parameters ({', '.join(needed)}), not {len(expected)}."
        yield _finding("wrong-parameters", message, f"Write `{wanted}`.", function.lineno)
    elif bare != list(expected) and sorted(bare) == sorted(expected):
        message = f"{function.name} has its parameters in another order: {', '.join(needed)}."
        yield _finding("parameters-swapped", message, f"Write `{wanted}`.", function.lineno)
    elif bare != list(expected):
        wrong = [name for name in needed if name not in expected]
        message = f"{function.name} names its parameters otherwise: {', '.join(wrong)}."
        yield _finding("wrong-parameters", message, f"Write `{wanted}`.", function.lineno)


def _constants(tree: ast.Module) -> Iterator[Finding]:
    lines = {name: node.lineno for name, node in _top_level_names(tree)}
    for constant, part in CONSTANT_OF_PART.items():
        if constant in lines and part not in lines:
            message = f"{constant} is given, but there is no {part}, so it means nothing."
            yield _finding("constant-without-part", message, f"Define {part}, or remove {constant}.", lines[constant])


def _state(tree: ast.Module) -> Iterator[Finding]:
    advice = "The parts must be pure; declare history, previous_action or time_left where memory is needed."
    for node in ast.walk(tree):
        if isinstance(node, ast.Global | ast.Nonlocal):
            message = f"mdp.py keeps state in {', '.join(node.names)}."
            yield _finding("global-state", message, advice, node.lineno, "warning")
        elif isinstance(node, Function):
            for default in (*node.args.defaults, *(item for item in node.args.kw_defaults if item)):
                if isinstance(default, ast.List | ast.Dict | ast.Set):
                    message = f"{node.name} has a default value that lives from call to call."
                    yield _finding("global-state", message, advice, default.lineno, "warning")
