"""The metrics server: curves of any library, diagnosis by rules, honest comparison, plots and the report."""
