"""Complete a design: fill what is missing from the catalogue, and report everything that does not fit, at once."""

from __future__ import annotations

import difflib
from typing import Any

from pydantic import BaseModel, ValidationError

from agent2_schemas import Design, EnvironmentReport, Finding, MdpDesign, NetworkDesign
from agent2_training.catalogue.cards import CARDS, policy_action_kind
from agent2_training.catalogue.suggestions import HYPERPARAMETERS, fit_to_budget, known_algorithms, tuned_preset


def complete_design(
    *,
    candidate_id: str,
    mdp: MdpDesign,
    report: EnvironmentReport,
    algorithm: str,
    network: dict[str, Any] | None = None,
    hyperparameters: dict[str, Any] | None = None,
    budget_env_steps: int = 100_000,
    normalise_observation: str = "",
    reward_scale: float | None = None,
    title: str = "",
    sources: tuple[str, ...] = (),
    parent_id: str | None = None,
) -> tuple[Design | None, tuple[Finding, ...]]:
    """Fill missing values from the tuned preset and check that all parts fit together.

    Args:
        candidate_id: the candidate.
        mdp: its MDP half, as `write_mdp` left it.
        report: the inspection of the environment.
        algorithm: name of the algorithm.
        network: some or all fields of `NetworkDesign`.
        hyperparameters: some or all fields of the algorithm's hyperparameters.
        budget_env_steps: environment steps of one full training.
        normalise_observation: none, running or warmup; empty: what the MDP declares, else what the preset goes with.
        reward_scale: constant reward scale; None: what the MDP declares, else what the preset goes with.
        title: what is particular about the candidate.
        sources: where the given values come from.
        parent_id: candidate it was derived from.

    Returns:
        The design, or None where a finding is an error; and all findings at once.
    """
    findings = _check_request(algorithm, mdp, budget_env_steps)
    if findings:
        return None, tuple(findings)
    given = dict(hyperparameters or {})
    given.pop("algorithm", None)
    model = HYPERPARAMETERS[algorithm]
    findings += unknown_names(given, model, "hyperparameter") + unknown_names(network or {}, NetworkDesign, "network")
    preset = tuned_preset(algorithm, report)  # pyright: ignore[reportArgumentType] # checked by _check_request
    size = _size(mdp.observation_space)
    fitted = fit_to_budget(preset.hyperparameters, size, budget_env_steps)
    values = {**fitted, **{name: value for name, value in given.items() if name in model.model_fields}}
    if "minibatch_size" in values and "minibatch_size" not in given:
        values["minibatch_size"] = _fit_minibatch(values)
    completed, faults = _validated(model, values, "hyperparameters")
    findings += faults
    known = {name: value for name, value in (network or {}).items() if name in NetworkDesign.model_fields}
    built, faults = _validated(NetworkDesign, {**preset.network, **known}, "network")
    findings += faults
    stateful = mdp.stateful.model_dump()
    is_free = mdp.stateful.normalise_observation == "none"
    stateful["normalise_observation"] = normalise_observation or (
        preset.normalise_observation if is_free else mdp.stateful.normalise_observation
    )
    scale = reward_scale if reward_scale is not None else mdp.reward_scale * preset.reward_scale
    declared = mdp.model_dump() | {"stateful": stateful, "reward_scale": scale}
    finished, faults = _validated(MdpDesign, declared, "mdp")
    findings += faults
    checked = completed or _without_faults(model, values, fitted)
    findings += check_fit(checked, finished or mdp, budget_env_steps)
    if (
        completed is None
        or built is None
        or finished is None
        or any(finding.severity == "error" for finding in findings)
    ):
        return None, tuple(findings)
    design = Design.model_validate(
        {
            "candidate_id": candidate_id,
            "parent_id": parent_id,
            "title": title,
            "mdp": finished,
            "algorithm": algorithm,
            "network": built,
            "hyperparameters": completed,
            "budget_env_steps": budget_env_steps,
            "gamma_source": "given" if "gamma" in given else preset.source,
            "sources": sources or (preset.source,),
        }
    )
    return design, tuple(findings)


def unknown_names(given: dict[str, Any], model: type[BaseModel], what: str) -> list[Finding]:
    """List names that the model does not know, each with close matches."""
    known = [name for name in model.model_fields if name != "algorithm"]
    findings: list[Finding] = []
    for name in given:
        if name in known:
            continue
        close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        advice = f"Did you mean {' or '.join(close)}?" if close else f"Known are {', '.join(known)}."
        findings.append(_error("unknown-name", f"There is no {what} named {name!r}.", advice))
    return findings


def check_fit(values: BaseModel, mdp: MdpDesign, budget_env_steps: int) -> list[Finding]:
    """Check complete hyperparameters against each other, the MDP and the budget."""
    numbers = values.model_dump()
    findings: list[Finding] = []
    per_round = numbers["num_envs"] * mdp.stateful.action_repeat
    if "rollout_steps" in numbers:
        findings += _check_rollouts(numbers, per_round * numbers["rollout_steps"], budget_env_steps)
    else:
        findings += _check_replay(numbers, budget_env_steps)
    if (
        mdp.stateful.normalise_observation == "warmup"
        and "rollout_steps" not in numbers
        and not numbers["warmup_env_steps"]
    ):
        findings.append(
            _error("no-warmup", "normalise_observation is warmup, but warmup_env_steps is 0.", "Set it to 1000.")
        )
    if mdp.stateful.normalise_observation != "none" and len(getattr(mdp.observation_space, "shape", ())) > 1:
        findings.append(
            _warning("normalised-image", "An image is normalised entry by entry.", "Choose none: it is divided by 255.")
        )
    return findings


def _check_rollouts(numbers: dict[str, Any], rollout_env_steps: int, budget_env_steps: int) -> list[Finding]:
    findings: list[Finding] = []
    samples = numbers["rollout_steps"] * numbers["num_envs"]
    if samples < numbers.get("minibatch_size", 1):
        message = f"minibatch_size {numbers['minibatch_size']} is larger than rollout_steps x num_envs = {samples}."
        findings.append(_error("minibatch-too-large", message, f"Set minibatch_size to at most {samples}."))
    if samples < 2:
        findings.append(
            _error("rollout-too-small", "A rollout of one sample cannot be learnt from.", "Raise rollout_steps.")
        )
    if rollout_env_steps > budget_env_steps:
        message = f"One rollout takes {rollout_env_steps} env steps, more than the budget of {budget_env_steps}."
        findings.append(
            _error("rollout-over-budget", message, "Lower rollout_steps or num_envs, or raise budget_env_steps.")
        )
    elif budget_env_steps // rollout_env_steps < 5:
        message = f"The budget holds only {budget_env_steps // rollout_env_steps} rollouts."
        findings.append(_warning("few-updates", message, "Lower rollout_steps or num_envs, or raise budget_env_steps."))
    return findings


def _check_replay(numbers: dict[str, Any], budget_env_steps: int) -> list[Finding]:
    findings: list[Finding] = []
    warmup = numbers["warmup_env_steps"]
    if warmup >= budget_env_steps:
        message = (
            f"warmup_env_steps {warmup} leaves nothing of the budget of {budget_env_steps} env steps to learn from."
        )
        findings.append(
            _error("warmup-over-budget", message, f"Set warmup_env_steps to {max(1, budget_env_steps // 10)}.")
        )
    if numbers["buffer_size"] < numbers["batch_size"]:
        message = f"buffer_size {numbers['buffer_size']} is smaller than batch_size {numbers['batch_size']}."
        findings.append(_error("buffer-too-small", message, "Raise buffer_size."))
    if numbers["buffer_size"] < numbers["num_envs"] * numbers["collect_steps"]:
        findings.append(
            _error("buffer-too-small", "One round of collection overwrites the buffer.", "Raise buffer_size.")
        )
    if numbers.get("exploration_final", 0.0) > numbers.get("exploration_initial", 1.0):
        findings.append(_warning("exploration-rises", "exploration_final exceeds exploration_initial.", "Swap them."))
    return findings


def _check_request(algorithm: str, mdp: MdpDesign, budget_env_steps: int) -> list[Finding]:
    findings: list[Finding] = []
    if budget_env_steps < 1:
        message = f"budget_env_steps is {budget_env_steps}."
        findings.append(_error("no-budget", message, "Give a positive number of environment steps."))
    if algorithm not in known_algorithms():
        close = difflib.get_close_matches(algorithm.upper(), known_algorithms(), n=1, cutoff=0.4)
        advice = f"Did you mean {close[0]}?" if close else f"Known are {', '.join(known_algorithms())}."
        return [*findings, _error("unknown-algorithm", f"There is no algorithm named {algorithm!r}.", advice)]
    kind = policy_action_kind(mdp.action_space.kind)
    card = next(card for card in CARDS if card.name == algorithm)
    if kind not in card.action_kinds:
        fitting = [card.name for card in CARDS if kind in card.action_kinds]
        advice = (
            f"Choose {' or '.join(fitting)}."
            if fitting
            else "Write an act() that gives a box or discrete ACTION_SPACE."
        )
        message = f"{algorithm} acts in {' and '.join(card.action_kinds)} spaces, this candidate's is {kind}."
        findings.append(_error("algorithm-unfit", message, advice))
    if mdp.observation_space.kind != "box":
        message = f"The policy would see a {mdp.observation_space.kind} space."
        findings.append(_error("observation-unfit", message, "Call write_mdp again: it describes a flat box."))
    return findings


def _validated(model: Any, values: dict[str, Any], where: str) -> tuple[Any, list[Finding]]:
    try:
        return model.model_validate(values), []
    except ValidationError as error:
        return None, [
            _error(
                "invalid-value",
                f"{where}.{'.'.join(str(part) for part in fault['loc'])} = {fault['input']!r}: {fault['msg']}.",
                "See list_algorithms and suggest_training for values that fit.",
            )
            for fault in error.errors()
        ]


def _without_faults(model: Any, values: dict[str, Any], fitted: dict[str, Any]) -> BaseModel:
    """Put the preset's values where the given ones are invalid, so that the others are checked all the same."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        wrong = {str(fault["loc"][0]) for fault in error.errors() if fault["loc"]}
    return model.model_validate(
        {name: fitted.get(name) if name in wrong else value for name, value in values.items()}
        if wrong <= set(fitted)
        else fitted
    )


def _fit_minibatch(values: dict[str, Any]) -> Any:
    try:
        return min(values["minibatch_size"], max(2, int(values["rollout_steps"]) * int(values["num_envs"])))
    except (TypeError, ValueError):
        return values["minibatch_size"]  # the schema will name what is wrong


def _size(space: Any) -> int:
    size = 1
    for length in getattr(space, "shape", ()):
        size *= max(1, length)
    return size


def _error(code: str, message: str, advice: str) -> Finding:
    return Finding(code=code, severity="error", message=message, advice=advice)


def _warning(code: str, message: str, advice: str) -> Finding:
    return Finding(code=code, severity="warning", message=message, advice=advice)
