"""Rules that turn curves, design and measurements into a cause and a fix."""
