"""Start the training server: `python -m agent2_training`."""

from agent2_serving import run_server
from agent2_training.server import build_server


def main() -> None:
    """Serve until the client leaves."""
    run_server(build_server)


if __name__ == "__main__":
    main()
