"""Reading learning curves under canonical names, whatever library wrote the log."""
