"""Training: algorithms, runs, checkpoints, trusted evaluation, export. The server half imports no torch."""
