"""Findings about the process: start, memory, output."""

import numpy as np

from agent2_environment.introspection.notes import Notes

SLOW_START_SECONDS, HEAVY_START_BYTES = 6.0, 250 * 10**6
GROWTH_MB_PER_1000_STEPS, GROWTH_BYTES_AT_LEAST = 20.0, 16 * 2**20
WARM_UP_STEPS, STEPS_AT_LEAST = 100, 250


def find_in_start(notes: Notes, seconds: float, taken_bytes: int, stdout_bytes: int) -> None:
    """Look at what import and construction cost."""
    if seconds > SLOW_START_SECONDS or taken_bytes > HEAVY_START_BYTES:
        notes.find(
            "slow-start",
            "warning",
            f"The start took {seconds:.0f} s and {taken_bytes / 1e6:.0f} MB; every worker process pays that.",
            advice="Load what is large once, lazily, or in a smaller form.",
            evidence=f"{seconds:.2f} s, {taken_bytes / 1e6:.0f} MB resident",
        )
    if stdout_bytes:
        notes.find(
            "output-at-start",
            "note",
            "The start writes to standard output; it goes to the log.",
            advice="Use logging, or standard error.",
            evidence=f"{stdout_bytes} bytes: {notes.stdout_sample(0)!r}",
            is_adapted=True,
        )


def find_in_memory(notes: Notes, memory: list[tuple[int, int]]) -> None:
    """Look for resident memory that grows steadily with the steps.

    Args:
        notes: takes the finding.
        memory: pairs of environment steps and resident bytes, the recording left out.
    """
    warm = np.array([pair for pair in memory if pair[0] >= WARM_UP_STEPS], dtype=float)
    if len(warm) < 3 or warm[-1, 0] < STEPS_AT_LEAST:
        return
    steps, used_bytes = warm[:, 0], warm[:, 1]
    middle = len(warm) // 2
    first, second = used_bytes[middle] - used_bytes[0], used_bytes[-1] - used_bytes[middle]
    megabytes = (used_bytes[-1] - used_bytes[0]) / (steps[-1] - steps[0]) * 1000 / 1e6
    if min(first, second) < GROWTH_BYTES_AT_LEAST / 4 or first + second < GROWTH_BYTES_AT_LEAST:
        return
    if megabytes < GROWTH_MB_PER_1000_STEPS:
        return
    notes.find(
        "memory-grows",
        "warning",
        f"Memory grows by about {megabytes:.0f} MB per 1000 steps.",
        advice="Find what is kept at every step; the memory limit stops a run.",
        evidence=f"{used_bytes[0] / 1e6:.0f} MB at step {steps[0]:.0f}, {used_bytes[-1] / 1e6:.0f} MB at {steps[-1]:.0f}",
    )


def find_in_output(notes: Notes, bytes_before: int, env_steps: int) -> None:
    """Look for output on descriptor 1 while stepping."""
    written_bytes = notes.stdout_bytes() - bytes_before
    if written_bytes > 0:
        notes.find(
            "output-while-stepping",
            "warning",
            f"The environment writes to stdout while it steps: {written_bytes} bytes in {env_steps} steps. "
            "It goes to the log.",
            advice="Use logging, or standard error; at every step it costs time.",
            evidence=f"sample: {notes.stdout_sample(bytes_before)!r}",
            is_adapted=True,
        )
