"""Run the environment server: `python -m agent2_environment`, or `agent2-environment`."""

from agent2_serving import run_server


def main() -> None:
    """Serve on the transport that the command line names; stdio by default."""
    run_server("agent2_environment.server:build_server")


if __name__ == "__main__":
    main()
