"""agent2_mdp."""
