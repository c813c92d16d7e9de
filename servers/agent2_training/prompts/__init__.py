"""The training server's prompts: Markdown beside this file, filled with the facts of a project."""

from agent2_training.prompts.filling import design_network, select_algorithm, tune_hyperparameters

__all__ = ["design_network", "select_algorithm", "tune_hyperparameters"]
