"""Pictures of learning curves."""
