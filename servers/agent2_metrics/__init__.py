"""agent2_metrics."""
