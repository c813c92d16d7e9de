"""Environments of several agents: their interface, its adapters and what they have in common with single ones."""
