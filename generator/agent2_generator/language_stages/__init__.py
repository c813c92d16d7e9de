"""The stages of a language model's design, in the paper's order: modelling, configuring, refining, repairing."""
