"""Run the MDP server: `python -m agent2_mdp` or `agent2-mdp`."""

from agent2_serving import run_server


def main() -> None:
    """Serve on the transport that the command line names; stdio by default."""
    run_server("agent2_mdp.server:build_server")


if __name__ == "__main__":
    main()
