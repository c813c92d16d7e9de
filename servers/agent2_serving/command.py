"""The command line of a server: its options, and running it on the chosen transport."""

import logging
import sys
from collections.abc import Callable

import anyio
from mcp.server.stdio import stdio_server

from agent2_serving.server import Server
from agent2_serving.standard_streams import claim_standard_streams

Factory = Callable[[], Server]


def run_server(build: Factory) -> None:
    """Run one server as a process."""
    wire = claim_standard_streams()
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    server = build()

    async def serve_stdio() -> None:
        async with stdio_server(anyio.wrap_file(wire.input), anyio.wrap_file(wire.output)) as (read, write):
            low = server.mcp._lowlevel_server  # pyright: ignore[reportPrivateUsage]
            await low.run(read, write, low.create_initialization_options())

    anyio.run(serve_stdio)


def serve(names: list[str]) -> None:
    """Serve several servers in one process."""
    raise NotImplementedError(names)
