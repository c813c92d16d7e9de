"""Standard input and output kept for the protocol alone: whatever else is printed goes to standard error."""

import os
import sys
from io import TextIOWrapper
from typing import NamedTuple


class Wire(NamedTuple):
    """The protocol's own streams, UTF-8, apart from file descriptors 0 and 1."""

    input: TextIOWrapper
    output: TextIOWrapper


def claim_standard_streams() -> Wire:
    """Move the protocol to private descriptors; then 0 reads nothing and 1 writes to standard error.

    Children do not inherit the private descriptors, so neither a `print`, nor a C library, nor a child process can
    forge or tear a protocol message. Text that `print` still held in its buffer goes to standard error too.
    """
    private_input, private_output = os.dup(0), os.dup(1)  # close-on-exec by default (PEP 446)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout.flush()
    sys.stdout = sys.stderr
    return Wire(
        input=TextIOWrapper(os.fdopen(private_input, "rb"), encoding="utf-8", errors="replace"),
        output=TextIOWrapper(os.fdopen(private_output, "wb"), encoding="utf-8"),
    )
