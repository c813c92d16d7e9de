"""The catalogue: algorithms, published settings, and how a design is completed. No torch, nothing is trained here."""

from agent2_training.catalogue.cards import algorithm_cards
from agent2_training.catalogue.completion import complete_design
from agent2_training.catalogue.suggestions import suggest

__all__ = ["algorithm_cards", "complete_design", "suggest"]
