"""Who may call a server over HTTP: a bearer token, and the names under which the server may be addressed."""

import hmac
import os
from pathlib import Path

from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from agent2_schemas import PrerequisiteError

TOKEN_VARIABLE = "AGENT2_TOKEN"
TOKEN_LEAST_CHARACTERS = 16
LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")
OPEN_PATHS = ("/health",)


def take_token(token_file: Path | None) -> str | None:
    """Read the bearer token from a file, else from `$AGENT2_TOKEN`; never from the command line, which others can see.

    The variable is removed from this process, so that no child inherits it.

    Returns:
        The token, or None where none is set.

    Raises:
        PrerequisiteError: the file cannot be read, or the token is too short to be a secret.
    """
    from_variable = os.environ.pop(TOKEN_VARIABLE, None)
    if token_file is None:
        token, origin = from_variable, f"${TOKEN_VARIABLE}"
    else:
        try:
            token, origin = token_file.read_text(encoding="utf-8"), str(token_file)
        except (OSError, UnicodeDecodeError) as error:
            raise PrerequisiteError(
                f"The token file {token_file} cannot be read: {error}.", "Name one line of text."
            ) from error
    if token is None:
        return None
    token = token.strip()
    if len(token) < TOKEN_LEAST_CHARACTERS or not token.isascii() or any(character.isspace() for character in token):
        raise PrerequisiteError(
            f"The token in {origin} is no secret: it must be one word of at least {TOKEN_LEAST_CHARACTERS} ASCII characters.",
            'Make one: python3 -c "import secrets; print(secrets.token_urlsafe())"',
        )
    return token


def check_exposure(host: str, token: str | None) -> None:
    """Refuse to listen beyond this machine without a token: the tools run code.

    Raises:
        PrerequisiteError: the address is reachable from elsewhere and there is no token.
    """
    if host not in LOCAL_HOSTS and token is None:
        raise PrerequisiteError(
            f"Listening on {host} lets other machines run code here, and no token is set.",
            f"Set {TOKEN_VARIABLE}, or name a file with --token-file, or listen on 127.0.0.1.",
        )


def host_rules(allowed_hosts: list[str]) -> TransportSecuritySettings:
    """Accept requests addressed to this machine by a local name, or by one that a person allowed.

    This stops a web page from reaching the server by a name that it points at 127.0.0.1.

    Args:
        allowed_hosts: names with or without a port, such as `trainer.example.org` or `training:8775`.
    """
    names = ["127.0.0.1", "localhost", "[::1]", *allowed_hosts]
    hosts = [form for name in names for form in (name, f"{name}:*")]
    origins = [f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")]
    return TransportSecuritySettings(enable_dns_rebinding_protection=True, allowed_hosts=hosts, allowed_origins=origins)


class RequireToken:
    """Answers 401 to every request without the token; health checks stay open."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        """Wrap `app`."""
        self._app = app
        self._expected = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what carries the token."""
        if scope["type"] != "http" or scope["path"] in OPEN_PATHS or self._is_authorised(scope):
            await self._app(scope, receive, send)
            return
        refusal = JSONResponse(
            {"error": "unauthorized", "advice": "Send the header Authorization: Bearer TOKEN."},
            status_code=401,
            headers={"WWW-Authenticate": "Bearer"},
        )
        await refusal(scope, receive, send)

    def _is_authorised(self, scope: Scope) -> bool:
        for name, value in scope["headers"]:
            if name == b"authorization":
                scheme, _, given = value.partition(b" ")
                return scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(), self._expected)
        return False
