"""Learners of groups of agents: policies of their own observations, critics of the true state."""
