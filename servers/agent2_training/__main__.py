"""Start the training server: `python -m agent2_training`."""

from agent2_serving import run_server


def main() -> None:
    """Serve until the client leaves; the server is imported after standard output is guarded."""
    run_server("agent2_training.server:build_server")


if __name__ == "__main__":
    main()
