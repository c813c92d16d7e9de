"""MCP itself, once for all servers: transports, access, result and error shaping, strict arguments, long calls."""

from agent2_serving.application import build_app
from agent2_serving.command import run_server, serve
from agent2_serving.long_calls import LongCalls
from agent2_serving.results import DESTROY, READ, WRITE, reply
from agent2_serving.server import Server

__all__ = ["DESTROY", "READ", "WRITE", "LongCalls", "Server", "build_app", "reply", "run_server", "serve"]
