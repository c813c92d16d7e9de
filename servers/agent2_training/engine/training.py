"""The training loop: collect, update, report, checkpoint, until the budget is spent or a stop is asked for."""

from __future__ import annotations

import random
from pathlib import Path
from time import monotonic
from typing import Any, Literal

import numpy as np
import torch

from agent2_sandbox.child import WorkerControl
from agent2_schemas import RunProgress
from agent2_targets.runtime.environment import build_environment
from agent2_training.engine.checkpoint import CheckpointFolder, load_checkpoint, save_checkpoint
from agent2_training.engine.collectors import OffPolicyCollector, OnPolicyCollector, make_exploration
from agent2_training.engine.faults import Diverged, StopRequested
from agent2_training.engine.guarding import GuardedTransforms
from agent2_training.engine.learner import Learner, build_learner
from agent2_training.engine.networks import load_policy_module
from agent2_training.engine.replay import ReplayBuffer
from agent2_training.engine.reports import Reports, resident_bytes
from agent2_training.engine.simulation import Simulation
from agent2_training.engine.updating import first_non_finite_parameter

SMOKE_ENV_STEPS = 300
"""The first steps, in which free-form code fails if it fails at all."""
NORMALISER_WARMUP_STEPS = 1_000
"""Random steps from which on-policy runs take their first statistics; at most a twentieth of the budget."""
PARAMETER_CHECK_SECONDS = 2.0


class Training:
    """One run of one design.

    Args:
        design: the design as JSON.
        candidate: folder of mdp.py and policy.py.
        origin: `{"reference": …, "root": …}`, how to build the environment.
        work: the run's writable folder.
        seed: training seed.
        budget_env_steps: environment steps of the whole run, those before a resume included.
        control: the line to the supervisor.
    """

    def __init__(
        self,
        design: dict[str, Any],
        candidate: Path,
        origin: dict[str, Any],
        work: Path,
        seed: int,
        budget_env_steps: int,
        control: WorkerControl,
    ) -> None:
        """Build environments, networks and algorithm, all from the seed."""
        torch.set_num_threads(1)
        seed_everything(seed)
        self.candidate, self._seed, self._budget, self._control = candidate, seed, budget_env_steps, control
        self.values: dict[str, Any] = design["hyperparameters"]
        self._normalisation: str = design["mdp"].get("stateful", {}).get("normalise_observation", "none")
        first = build_environment(origin["reference"], root=origin.get("root"))
        mdp = {**design["mdp"], "max_episode_steps": first.max_episode_steps}
        self._design = {**design, "mdp": mdp}
        control.beat(0, is_forced=True)  # from here on, code that hangs is noticed within the stall limit
        transforms = GuardedTransforms.load(candidate / "mdp.py", mdp)
        built = [first.env]

        def build() -> Any:
            return built.pop() if built else build_environment(origin["reference"], root=origin.get("root")).env

        self.simulation = Simulation(build, self._design, transforms, seed)
        seed_everything(seed)  # whatever building drew, the networks start from the seed
        policy = load_policy_module(candidate / "policy.py")
        self.learner: Learner = build_learner(self._design, policy, self.simulation.action_space)
        self.learner.algorithm.on_gradient_step = self._beat
        self._generator = np.random.default_rng([seed, 1])
        self._reports = Reports(work, budget_env_steps)
        self._checkpoints = CheckpointFolder(work / "checkpoints", budget_env_steps)
        self.updates = 0
        self._resumed_env_steps, self._begun = 0, monotonic()
        self._seconds_before = 0.0
        self._last_check = 0.0
        self._phase: Literal["starting", "smoke", "training", "done"] = "starting"

    def resume(self, path: Path) -> None:
        """Go on from a checkpoint; environments start new episodes, and a replay buffer starts empty.

        Raises:
            ValueError: the file does not fit this design.
        """
        state, normaliser = load_checkpoint(path, self.learner)
        self.simulation.env_steps = self._resumed_env_steps = int(state["env_steps"])
        self.updates, self._seconds_before = int(state["updates"]), float(state["seconds"])
        self.simulation.episodes.load_dict(state["episodes"])
        self._generator = np.random.default_rng([self._seed, 1, self._resumed_env_steps])
        if normaliser is not None:
            self.simulation.normaliser = normaliser

    def run(self) -> None:
        """Train until the budget is spent or a stop is asked for; a checkpoint is left in either case.

        Raises:
            Diverged: something became NaN or infinite.
            TransformError: a function of mdp.py failed.
            StepFault: the environment broke the interface.
        """
        self._begun = monotonic()
        self._control.beat(self.simulation.env_steps, is_forced=True)
        self.simulation.reset()
        self._reports.begin(self.simulation.env_steps)
        self._checkpoints.begin(self.simulation.env_steps, self._begun)
        self._phase = "smoke"
        self._report(is_forced=True)
        try:
            if self.learner.is_on_policy:
                self._run_on_policy()
            else:
                self._run_off_policy()
        except StopRequested:
            pass
        except BaseException:
            self._reports.close()  # the curves up to the fault explain it
            raise
        else:
            self._phase = "done"
        self._check_parameters()
        self._save()
        self._write_point()
        self._report(is_forced=True)
        self.close()

    def close(self) -> None:
        """Flush the reports and close the environments."""
        self._reports.close()
        self.simulation.close()

    def _run_on_policy(self) -> None:
        simulation, values = self.simulation, self.values
        if simulation.normaliser is not None and not self._resumed_env_steps:
            self._warm_normaliser()
        collector = OnPolicyCollector(simulation, self.learner.actor, self._beat)
        minibatch, epochs = values.get("minibatch_size"), values.get("epochs", 1)
        while simulation.env_steps < self._budget:
            rollout = collector.collect(int(values["rollout_steps"]))
            self._set_learning_rate()
            stats = self.learner.algorithm.update(rollout, minibatch, epochs)
            self.updates += stats.gradient_steps
            self._reports.add(stats.values)
            if self._normalisation == "running" and simulation.normaliser is not None:
                simulation.normaliser.update(collector.plain.reshape(-1, simulation.size))
                simulation.refresh()
            self._after_round()

    def _warm_normaliser(self) -> None:
        """Measure the first statistics on random steps, then start new episodes."""
        simulation = self.simulation
        assert simulation.normaliser is not None
        target = min(NORMALISER_WARMUP_STEPS, max(simulation.count * 10, self._budget // 20))
        rows = [simulation.plain]
        while simulation.env_steps < target:
            simulation.step(simulation.random_actions(self._generator))
            rows.append(simulation.plain)
            self._beat()
        simulation.normaliser.update(np.concatenate(rows))
        simulation.reset()

    def _run_off_policy(self) -> None:
        simulation, values = self.simulation, self.values
        buffer = ReplayBuffer(
            max(min(int(values["buffer_size"]), self._budget), simulation.count * int(values["collect_steps"])),
            simulation.shape,
            simulation.action_shape,
            simulation.is_discrete,
            self._seed + self._resumed_env_steps,
        )
        choose = make_exploration(self.learner.name, values, self._generator, self._exploration_rate)
        collector = OffPolicyCollector(simulation, self.learner.actor, choose, buffer, self._beat)
        self._warm_buffer(collector, buffer)
        buffer.normaliser = simulation.normaliser
        owed = 0.0
        while simulation.env_steps < self._budget:
            before = simulation.env_steps
            collector.collect(int(values["collect_steps"]))
            self._set_learning_rate()
            owed += float(values["updates_per_env_step"]) * (simulation.env_steps - before)
            while owed >= 1.0:
                stats = self.learner.algorithm.update(buffer, int(values["batch_size"]))
                self.updates += 1
                owed -= 1.0
                self._reports.add(stats.values)
                self._beat()
            if self._normalisation == "running" and simulation.normaliser is not None:
                simulation.normaliser.update(
                    buffer.recent_observations(simulation.count * int(values["collect_steps"]))
                )
                simulation.refresh()
            self._after_round()

    def _warm_buffer(self, collector: OffPolicyCollector, buffer: ReplayBuffer) -> None:
        """Fill the buffer by random steps, after a resume by the policy as it is; measure the first statistics."""
        simulation = self.simulation
        warmup = min(int(self.values["warmup_env_steps"]), self._budget - simulation.env_steps)
        if self._resumed_env_steps:
            target = simulation.env_steps + warmup
            while simulation.env_steps < target:
                collector.collect(1)
            return
        collector.collect_random(warmup, self._generator)
        if simulation.normaliser is not None:
            simulation.normaliser.update(buffer.recent_observations(buffer.size))
            simulation.refresh()

    def _exploration_rate(self) -> float:
        values = self.values
        share = min(1.0, self.simulation.env_steps / (float(values["exploration_fraction"]) * self._budget))
        first, last = float(values["exploration_initial"]), float(values["exploration_final"])
        return first + share * (last - first)

    def _learning_rate(self) -> float:
        rate = float(self.values["learning_rate"])
        if self.values["learning_rate_schedule"] == "constant":
            return rate
        return rate * max(0.0, 1.0 - self.simulation.env_steps / self._budget)

    def _set_learning_rate(self) -> None:
        if self.values["learning_rate_schedule"] != "constant":
            # The last rollout ends at the budget: a hundredth of the rate is left for it.
            self.learner.set_learning_rate(max(self._learning_rate(), 0.01 * float(self.values["learning_rate"])))

    def _beat(self) -> None:
        self._control.beat(self.simulation.env_steps)
        if self._control.stop_requested:
            raise StopRequested
        if self._phase == "smoke" and self.simulation.env_steps - self._resumed_env_steps >= SMOKE_ENV_STEPS:
            self._phase = "training"
        self._report()

    def _after_round(self) -> None:
        env_steps, now = self.simulation.env_steps, monotonic()
        if self._reports.is_due(env_steps):
            self._write_point()
        if now - self._last_check > PARAMETER_CHECK_SECONDS:
            self._last_check = now
            self._check_parameters()
        if self._checkpoints.is_due(env_steps, now):
            self._check_parameters()
            self._save()

    def _check_parameters(self) -> None:
        name = first_non_finite_parameter(self.learner.modules)
        if name is not None:
            raise Diverged(
                f"Parameter {name} is NaN or infinite after {self.updates} updates, step {self.simulation.env_steps}."
            )

    def _save(self) -> None:
        env_steps, now = self.simulation.env_steps, monotonic()
        path = self._checkpoints.path(env_steps, now)
        state = {
            "env_steps": env_steps,
            "updates": self.updates,
            "seconds": self._seconds(),
            "episodes": self.simulation.episodes.to_dict(),
            "learning_rate": self._learning_rate(),
        }
        save_checkpoint(path, self.learner, self.simulation.normaliser, state, self._seed)
        self._checkpoints.written(path, env_steps, now)

    def _write_point(self) -> None:
        values = self.simulation.episodes.take_interval()
        values["train/learning_rate"] = self._learning_rate()
        if self.learner.name == "DQN":
            values["train/exploration_rate"] = self._exploration_rate()
        values["time/env_steps_per_second"] = self._rate()
        values["time/memory_bytes"] = float(resident_bytes())
        self._reports.write_point(self.simulation.env_steps, values)

    def _seconds(self) -> float:
        return self._seconds_before + monotonic() - self._begun

    def _rate(self) -> float:
        return (self.simulation.env_steps - self._resumed_env_steps) / max(1e-9, monotonic() - self._begun)

    def _report(self, *, is_forced: bool = False) -> None:
        self._reports.progress(self._progress, monotonic(), is_forced=is_forced)

    def _progress(self) -> RunProgress:
        original, shaped = self.simulation.episodes.reported()
        return RunProgress(
            env_steps=self.simulation.env_steps,
            updates=self.updates,
            episodes=self.simulation.episodes.finished,
            reported_original_return=original,
            reported_shaped_return=shaped,
            env_steps_per_second=self._rate(),
            seconds=self._seconds(),
            checkpoint_env_steps=self._checkpoints.newest_env_steps,
            phase=self._phase,
        )


def seed_everything(seed: int) -> None:
    """Seed every global source of random numbers."""
    random.seed(seed)
    np.random.seed(seed % 2**32)  # Tianshou and generated code draw from it
    torch.manual_seed(seed)
