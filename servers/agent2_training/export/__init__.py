"""Export: the card evaluation, the packed Target Agent, its video."""
