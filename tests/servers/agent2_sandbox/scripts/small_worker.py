"""A worker as small as can be: loads an mdp.py and calls it in a loop, as a training worker does. Runs in the sandbox."""

import sys
import traceback
from pathlib import Path
from types import ModuleType

import numpy as np

from agent2_sandbox.child import WorkerControl
from agent2_sandbox.guards import GuardError, checked_components, guarded_call, guarded_load

_BATCH, _SIZE, _STEPS = 2, 4, 20


def _load(file: Path) -> ModuleType:
    module = ModuleType("mdp")
    module.__file__ = str(file)
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), module.__dict__)
    return module


def _steps(module: ModuleType, file: Path, control: WorkerControl) -> None:
    generator = np.random.Generator(np.random.PCG64(0))
    observation = generator.normal(size=(_BATCH, _SIZE))
    for step in range(1, _STEPS + 1):
        previous, observation = observation, generator.normal(size=(_BATCH, _SIZE))
        if hasattr(module, "observe"):
            guarded_call("observe", module.observe, observation, file=file, step=step)
        if hasattr(module, "reward"):
            ends = np.zeros(_BATCH, dtype=bool)
            arguments = (previous, np.zeros((_BATCH, 1)), observation, np.ones(_BATCH), ends, ends, {})
            result = guarded_call("reward", module.reward, *arguments, file=file, step=step)
            checked_components(result, _BATCH, step=step, observation=observation)
        control.beat(step)


def main() -> None:
    """Load the file named first and call it."""
    control = WorkerControl.from_arguments()
    file = Path(sys.argv[1])
    control.beat(0, is_forced=True)
    try:
        module = guarded_load(file, lambda: _load(file))
        _steps(module, file, control)
    except GuardError as error:
        traceback.print_exc()
        control.fail(error.outcome, str(error))
        sys.exit(1)
    control.done()


if __name__ == "__main__":
    main()
