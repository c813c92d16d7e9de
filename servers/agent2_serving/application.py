"""Several servers in one HTTP application, each at its own path."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Mount, Route

from agent2_serving.access import RequireToken, host_rules
from agent2_serving.server import Server


def build_app(
    servers: Mapping[str, Server],
    *,
    has_sse: bool = False,
    token: str | None = None,
    allowed_hosts: list[str] | None = None,
) -> Starlette:
    """Build the application: `/<name>/mcp`, with SSE also `/<name>-sse/sse`, and `/health`.

    A single server answers at `/mcp` (and `/sse`) as well.

    Args:
        servers: sealed servers by the name that becomes their path.
        has_sse: also serve the older SSE transport, which the protocol has deprecated.
        token: bearer token that every request but `/health` must carry; None: none is asked for.
        allowed_hosts: names besides the local ones under which clients may address the servers.
    """
    rules = host_rules(allowed_hosts or [])

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:  # the lifespan of a mounted application never runs by itself
            for server in servers.values():
                await stack.enter_async_context(server.mcp.session_manager.run())
            yield

    async def health(_: Request) -> JSONResponse:
        return JSONResponse({"ok": True, "servers": sorted(servers)})

    routes: list[BaseRoute] = [Route("/health", health)]
    for name, server in servers.items():
        app = server.mcp.streamable_http_app(transport_security=rules)
        routes.append(Mount(f"/{name}", app=app))
        sse_app = server.mcp.sse_app(transport_security=rules) if has_sse else None
        if sse_app is not None:
            routes.append(Mount(f"/{name}-sse", app=sse_app))
        if len(servers) == 1:
            routes += [route for each in (app, sse_app) if each is not None for route in each.routes]
    middleware = [Middleware(RequireToken, token=token)] if token is not None else []
    return Starlette(routes=routes, middleware=middleware, lifespan=lifespan)
