"""`python -I -B -m agent2_sandbox.script FILE …`: runs one file as the main program, its arguments behind it."""

import runpy
import sys

if __name__ == "__main__":
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
