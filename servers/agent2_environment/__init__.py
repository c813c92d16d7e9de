"""The environment server: facts about an environment and what is wrong with it; the list of families.

The server half (this package's modules) starts in a blink and imports no environment. The child half (`introspection/`)
runs in a sandboxed process of its own, where user code may hang, crash, print or exit.
"""
