"""agent2_generator."""
