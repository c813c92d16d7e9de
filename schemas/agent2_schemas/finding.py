"""One thing that an inspection or a verification found."""

from typing import Literal

from pydantic import Field

from agent2_schemas.model import Frozen

Severity = Literal["error", "warning", "note"]
"""error: refuses training; warning: adapted, or the result may suffer; note: worth knowing."""


class Finding(Frozen):
    """What is wrong, where, how it shows, and what to do about it."""

    code: str = Field(description="Stable kebab-case name of the kind of finding.")
    severity: Severity = Field(description="error refuses training; warning and note do not.")
    message: str = Field(description="What was found, in one sentence.")
    advice: str = Field(default="", description="What to change, in one sentence.")
    evidence: str = Field(default="", description="The measurement that shows it: counts, ranges, samples.")
    file: str = Field(default="", description="File the finding is about, where there is one.")
    line: int | None = Field(default=None, ge=1, description="Line in that file, counted from 1.")
    step: int | None = Field(default=None, ge=0, description="Environment step at which it showed, counted from 0.")
    is_adapted: bool = Field(default=False, description="Whether Agent² adapts to it by itself (never in silence).")


class Isolation(Frozen):
    """How well a process of code that we did not write was shut in."""

    tier: Literal["A", "B", "C", "D"] = Field(
        description="A: bubblewrap; B: Landlock and seccomp; C: macOS Seatbelt; D: no boundary."
    )
    not_enforced: tuple[str, ...] = Field(default=(), description="What this tier does not enforce here, in words.")
