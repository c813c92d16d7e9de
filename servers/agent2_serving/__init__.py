"""agent2_serving."""
