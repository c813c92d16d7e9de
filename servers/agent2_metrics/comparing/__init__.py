"""Ranking a search, and the verdict over both baselines."""
