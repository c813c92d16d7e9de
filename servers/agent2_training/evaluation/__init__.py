"""Trusted evaluation: the true environment in one process, the policy in another, two pipes between them."""
