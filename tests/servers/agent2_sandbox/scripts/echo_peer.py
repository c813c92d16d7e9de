"""A peer: sends back what it reads, in capital letters. Runs in the sandbox."""

import os
import sys


def main() -> None:
    """Read from the first descriptor, write to the second."""
    source, sink = int(sys.argv[1]), int(sys.argv[2])
    while data := os.read(source, 4096):
        if data == b"die":
            raise SystemExit("told to die")
        os.write(sink, data.upper())


if __name__ == "__main__":
    main()
