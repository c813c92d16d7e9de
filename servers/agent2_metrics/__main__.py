"""`python -m agent2_metrics`: serve curves, diagnosis and verdicts."""

from agent2_serving import run_server


def main() -> None:
    """Run the metrics server as the command line says."""
    run_server("agent2_metrics.server:build_server")


if __name__ == "__main__":
    main()
