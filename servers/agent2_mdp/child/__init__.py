"""The child half: runs generated code on recorded transitions, only inside the sandbox; needs NumPy, no pydantic."""
