"""agent2_training."""
