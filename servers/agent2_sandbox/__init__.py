"""agent2_sandbox."""
