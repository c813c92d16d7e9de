"""agent2_environment."""
