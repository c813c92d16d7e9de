"""What an agent needs to run: building and stepping its environment, its transforms, its policy. NumPy and Gymnasium only."""
