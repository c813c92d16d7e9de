"""The command line of the servers: options, and running them on the chosen transport."""

import argparse
import gc
import logging
import os
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

import anyio
import uvicorn
from mcp.server.stdio import stdio_server

from agent2_schemas import Agent2Error, PrerequisiteError
from agent2_serving.access import check_exposure, take_token
from agent2_serving.application import build_app
from agent2_serving.discovery import Factory, load_factory, server_names
from agent2_serving.server import Server
from agent2_serving.standard_streams import Wire, claim_standard_streams

Transport = Literal["stdio", "http", "sse"]

DEFAULT_PORT = 8775
USAGE_EXIT = 2


def run_server(build: Factory | str) -> None:
    """Run one server as this process, as its command line says; the body of a package's `__main__`.

    Args:
        build: the factory, or `package.module:function`, which is imported only after standard output is guarded.
    """
    options = vars(_parser(with_names=False).parse_args())
    wire = claim_standard_streams()
    load = (lambda: load_factory(build)) if isinstance(build, str) else (lambda: build)
    _guarded(lambda: _run(wire, [load], **options))


def main() -> None:
    """Run the named servers in this process: `python -m agent2_serving environment mdp --transport http`."""
    options = vars(_parser(with_names=True).parse_args())
    wire = claim_standard_streams()
    names: list[str] = options.pop("names") or server_names()
    _guarded(lambda: serve(names, wire=wire, **options))


def serve(
    names: Sequence[str],
    *,
    transport: Transport = "stdio",
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    token_file: Path | None = None,
    allowed_host: Sequence[str] = (),
    workspace: Path | None = None,
    wire: Wire | None = None,
) -> None:
    """Serve installed servers in this process until it is stopped.

    Args:
        names: entry points of the group `agent2.servers`; exactly one over stdio.
        transport: `stdio`; `http` at `/<name>/mcp`; `sse` also at `/<name>-sse/sse`.
        host: address to listen on; another than the local ones needs a token.
        port: port to listen on; 0 takes a free one, which standard error tells.
        token_file: file with the bearer token; else `$AGENT2_TOKEN`.
        allowed_host: further names under which clients address this process.
        workspace: folder of the projects; else `$AGENT2_WORKSPACE`.
        wire: the protocol's streams, where the caller has claimed them already.

    Raises:
        Agent2Error: a name is not installed, or the process may not listen there.
    """
    loads = [lambda name=name: load_factory(name) for name in dict.fromkeys(names)]
    _run(
        wire or claim_standard_streams(),
        loads,
        transport=transport,
        host=host,
        port=port,
        token_file=token_file,
        allowed_host=allowed_host,
        workspace=workspace,
    )


def _run(
    wire: Wire,
    loads: Sequence[Callable[[], Factory]],
    *,
    transport: Transport,
    host: str,
    port: int,
    token_file: Path | None,
    allowed_host: Sequence[str],
    workspace: Path | None,
) -> None:
    # Configured before the SDK does it: it would log every request.
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    if workspace is not None:
        os.environ["AGENT2_WORKSPACE"] = str(workspace.expanduser().resolve())
    if transport == "stdio" and len(loads) != 1:
        raise PrerequisiteError(
            f"Standard input serves one server, not {len(loads)}.", "Name one, or add --transport http."
        )
    token = take_token(token_file)
    if transport != "stdio":
        check_exposure(host, token)
    servers = _build(loads)
    if transport == "stdio":
        anyio.run(_serve_stdio, next(iter(servers.values())), wire)
        return
    app = build_app(servers, has_sse=transport == "sse", token=token, allowed_hosts=list(allowed_host))
    with _listen(host, port) as listener:
        _announce(servers, listener, transport)
        # Open event streams would hold the process for ever, hence the bound.
        config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=3)
        uvicorn.Server(config).run(sockets=[listener])


def _build(loads: Sequence[Callable[[], Factory]]) -> dict[str, Server]:
    """Import and build the servers; what they consist of stays for good, so the garbage collector need not look at it."""
    gc.disable()
    try:
        return {server.name: server for server in (load()() for load in loads)}
    finally:
        gc.freeze()
        gc.enable()


async def _serve_stdio(server: Server, wire: Wire) -> None:
    async with stdio_server(anyio.wrap_file(wire.input), anyio.wrap_file(wire.output)) as (read, write):
        protocol = server.mcp._lowlevel_server  # pyright: ignore[reportPrivateUsage]  # streams of our own have no public way in
        await protocol.run(read, write, protocol.create_initialization_options())


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise PrerequisiteError(
            f"Cannot listen on {host} port {port}: {error.strerror or error}.",
            "Choose another with --port; 0 takes a free one.",
        ) from error


def _announce(servers: Mapping[str, Server], listener: socket.socket, transport: Transport) -> None:
    host, port = listener.getsockname()[:2]
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    for name in servers:
        paths = [f"{address}/{name}/mcp", *([f"{address}/{name}-sse/sse"] if transport == "sse" else [])]
        print(f"agent2 {name}: serving at {' and '.join(paths)}", file=sys.stderr, flush=True)


def _guarded(run: Callable[[], None]) -> None:
    """End with one clear line instead of a traceback where the person who started this can mend it."""
    try:
        run()
    except Agent2Error as error:
        print(f"agent2: {error}", file=sys.stderr)
        sys.exit(USAGE_EXIT)
    except KeyboardInterrupt:
        sys.exit(130)


def _parser(*, with_names: bool) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Serve Agent² tools over the Model Context Protocol.", allow_abbrev=False
    )
    if with_names:
        parser.add_argument("names", nargs="*", metavar="NAME", help=f"servers (default: {' '.join(server_names())})")
    parser.add_argument("--transport", choices=get_args(Transport), default="stdio", help="default: %(default)s")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument(
        "--port", type=int, default=DEFAULT_PORT, help="port; 0 takes a free one (default: %(default)s)"
    )
    parser.add_argument("--token-file", type=Path, help="file with the bearer token; else $AGENT2_TOKEN")
    parser.add_argument(
        "--allowed-host", action="append", default=[], metavar="NAME",
        help="further name under which clients address this server; may be repeated",
    )  # fmt: skip
    parser.add_argument("--workspace", type=Path, help="folder of the projects; else $AGENT2_WORKSPACE")
    return parser
