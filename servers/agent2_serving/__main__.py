"""`python -m agent2_serving NAME…`: serve installed servers in one process."""

from agent2_serving.command import main

if __name__ == "__main__":
    main()
