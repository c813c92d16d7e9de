"""`python -m agent2_generator` is the command `agent2`."""

from agent2_generator.cli import main

if __name__ == "__main__":
    main()
