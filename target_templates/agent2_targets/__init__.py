"""agent2_targets."""
