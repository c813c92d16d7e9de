"""How long until a server answers `tools/list`, against a bare SDK server with as many tools, measured side by side.

    python benchmarks/startup.py --rounds 7 [--server environment]

A round starts every server once, the bare one beside each; the ratio is the median of the rounds' ratios. Target: at most 1.5.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

SERVERS = {"environment": 5, "mdp": 4, "training": 8, "metrics": 6}
TARGET_RATIO = 1.5
ANSWER_ID = 2

BARE = """
from mcp.server import MCPServer
server = MCPServer("bare", log_level="WARNING")
for number in range({tools}):
    def tool(project: str, episodes: int = 10) -> str:
        "A tool."
        return project
    server.add_tool(tool, name=f"tool_{{number}}")
server.run()
"""

REQUESTS = [
    {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "startup", "version": "1"}},
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": ANSWER_ID, "method": "tools/list"},
]  # fmt: skip


def seconds_to_tools(command: list[str], tools: int) -> float:
    """Start a server over standard input and time it until the list of tools has arrived.

    Args:
        command: how to start it.
        tools: how many tools it must list.

    Returns:
        Seconds from the start of the process to the answer.

    Raises:
        RuntimeError: the server ended, or listed another number of tools.
    """
    begun = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write("".join(json.dumps(request) + "\n" for request in REQUESTS))
        process.stdin.flush()
        for line in process.stdout:
            answer = json.loads(line)
            if answer.get("id") == ANSWER_ID:
                elapsed = time.perf_counter() - begun
                if len(answer["result"]["tools"]) != tools:
                    raise RuntimeError(f"{command} lists {len(answer['result']['tools'])} tools, not {tools}")
                return elapsed
    finally:
        process.stdin.close()
        process.wait(30)
    raise RuntimeError(f"{command} ended without an answer: {process.stderr.read() if process.stderr else ''}")


def measure(names: list[str], rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Time each server and its bare twin, one after the other, round by round.

    Returns:
        For each name, pairs (seconds of ours, seconds of the bare one).
    """
    pairs: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for number in range(rounds + 1):
        for name in names:
            tools = SERVERS[name]
            commands = ([sys.executable, "-m", f"agent2_{name}"], [sys.executable, "-c", BARE.format(tools=tools)])
            order = (0, 1) if number % 2 else (1, 0)  # whoever comes second finds warm files
            seconds = {index: seconds_to_tools(commands[index], tools) for index in order}
            if number > 0:  # the first round only warms the disk's cache
                pairs[name].append((seconds[0], seconds[1]))
    return pairs


def main() -> int:
    """Print a table; the exit code tells whether every server meets the target."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--server", action="append", choices=list(SERVERS))
    options = parser.parse_args()
    is_met = True
    print(f"{'server':<12} {'tools':>5} {'ours s':>8} {'bare s':>8} {'ratio':>6}")
    for name, pairs in measure(options.server or list(SERVERS), options.rounds).items():
        ours, bare = (statistics.median(column) for column in zip(*pairs, strict=True))
        ratio = statistics.median(mine / other for mine, other in pairs)
        is_met &= ratio <= TARGET_RATIO
        print(f"{name:<12} {SERVERS[name]:>5} {ours:>8.2f} {bare:>8.2f} {ratio:>6.2f}")
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
