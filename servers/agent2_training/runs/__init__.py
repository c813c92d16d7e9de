"""Runs: start, queue, read, stop. The folder of a run is the truth; any server process can tell it from there."""
