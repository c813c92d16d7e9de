"""Writing, checking and previewing `mdp.py`; published priors for it; descriptions of the transforms."""
