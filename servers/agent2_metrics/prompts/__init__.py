"""Prompts of the metrics server, as Markdown."""
