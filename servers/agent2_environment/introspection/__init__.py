"""The child half: runs user code in a sandboxed process; needs NumPy, Gymnasium and agent2_targets only."""
