"""The worker of a run: trains inside the sandbox. `python -m agent2_training.worker WORK RUN_JSON --reference FILE`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from pathlib import Path
from typing import NoReturn

import yaml

from agent2_sandbox.child import WorkerControl
from agent2_schemas import RunSpecification
from agent2_training.engine.faults import outcome_of
from agent2_training.engine.training import Training


def main() -> None:
    """Train one run; the supervisor learns how it ended."""
    control = WorkerControl.from_arguments()
    parser = argparse.ArgumentParser(description="Train one run of one candidate.")
    parser.add_argument("work", type=Path, help="writable folder of the run")
    parser.add_argument("specification", type=Path, help="run.json, with the folder candidate/ beside it")
    parser.add_argument("--reference", type=Path, required=True, help="JSON: how to build the environment")
    parser.add_argument("--resume", type=Path, default=None, help="checkpoint to go on from")
    arguments = parser.parse_args()
    try:
        train(arguments.work, arguments.specification, arguments.reference, arguments.resume, control)
    except Exception as error:
        traceback.print_exc()
        control.fail(*outcome_of(error))
        leave(1)
    control.done()
    leave(0)


def leave(code: int) -> NoReturn:
    """End at once: the teardown of the libraries takes seconds on a busy machine, which would look like a stall."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def train(work: Path, specification: Path, reference: Path, resume: Path | None, control: WorkerControl) -> Training:
    """Train what a run.json asks for.

    Args:
        work: writable folder of the run.
        specification: run.json; the folder `candidate/` lies beside it.
        reference: JSON file `{"reference": …, "root": …}`.
        resume: checkpoint to go on from, or None.
        control: the line to the supervisor.

    Returns:
        The finished training.
    """
    run = RunSpecification.model_validate_json(specification.read_bytes())
    candidate = (specification.parent / "candidate").absolute()
    design = yaml.safe_load((candidate / "design.yaml").read_text(encoding="utf-8"))
    origin = json.loads(reference.read_text(encoding="utf-8"))
    work, resume = work.absolute(), resume.absolute() if resume else None  # an environment may change the folder
    training = Training(design, candidate, origin, work, run.training_seed, run.budget_env_steps, control)
    if resume is not None:
        training.resume(resume)
    training.run()
    return training


if __name__ == "__main__":
    main()
