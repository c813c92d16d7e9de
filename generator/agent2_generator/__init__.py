"""The Generator: an MCP client that drives the four servers, the designers, and the command `agent2`."""
