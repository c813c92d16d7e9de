"""The command `agent2`: finds the subcommand, and turns every foreseen error into one message and an exit code."""

import errno
import importlib
import os
import sqlite3
import sys
import traceback

import click
from rich.console import Console

from agent2_schemas import Agent2Error, CorrectableError, PrerequisiteError

EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_FINDINGS, EXIT_INTERRUPTED = 0, 1, 2, 3, 130
"""Exit codes (DESIGN 4.4); 130 is what shells expect of a command that Ctrl-C ended."""

_COMMANDS = {
    "build": ("build_command:build", "Build a Target Agent for an environment."),
    "resume": ("build_command:resume", "Go on with an interrupted build."),
    "replay": ("build_command:replay", "Build a project anew from its recorded answers, without a key."),
    "runs": ("look_commands:runs", "List the projects, or the runs of one."),
    "show": ("look_commands:show", "Show what a project tried, its verdict and its agent."),
    "inspect": ("look_commands:inspect", "Inspect an environment; exit code 3 if a finding is an error."),
    "verify": ("verify_command:verify", "Verify a candidate or a file mdp.py; exit code 3 if a finding is an error."),
    "diagnose": ("look_commands:diagnose", "Say what the curves of a run or a TensorBoard folder show."),
    "compare": ("look_commands:compare", "Rank the candidates of a project by their scores."),
    "evaluate": ("agent_commands:evaluate", "Score a delivered agent by the trusted evaluator."),
    "play": ("agent_commands:play", "Watch a delivered agent act."),
    "doctor": ("house_commands:doctor", "Check the installation."),
    "clean": ("house_commands:clean", "Free the disk."),
    "env": ("house_commands:env", "Environments that can be used here."),
    "serve": ("house_commands:serve", "Serve all servers from one process over HTTP or SSE."),
}
"""Module and function of each subcommand, and its line in `agent2 --help`, in the order of a person's work."""


class LazyGroup(click.Group):
    """Imports a subcommand only when it is asked for: `agent2 --help` answers in a blink."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Give the names in the order of a person's work."""
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a subcommand."""
        if cmd_name not in _COMMANDS:
            return super().get_command(ctx, cmd_name)
        module, name = _COMMANDS[cmd_name][0].split(":")
        return getattr(importlib.import_module(f"agent2_generator.{module}"), name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list without importing the subcommands."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in _COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="agent-squared", prog_name="agent2")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
def agent2(debug: bool) -> None:
    """From a task in words and an environment to a trained, judged and delivered agent."""
    if debug:
        os.environ["AGENT2_DEBUG"] = "1"


def main() -> None:
    """Run the command; see the exit codes above."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command with these arguments.

    Returns:
        The exit code; every foreseen error is one message on stderr, without a traceback unless `--debug`.
    """
    try:
        result = agent2.main(args=arguments, prog_name="agent2", standalone_mode=False)
        return result if isinstance(result, int) else EXIT_OK
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.Abort:
        return EXIT_INTERRUPTED
    except click.ClickException as error:
        error.show()
        return EXIT_USAGE
    except BaseException as error:
        return _explain(error)


def _explain(error: BaseException) -> int:
    cause = _with_advice(innermost(error))
    if os.environ.get("AGENT2_DEBUG"):
        traceback.print_exception(error)
    if isinstance(cause, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    if not isinstance(cause, Agent2Error):
        if not os.environ.get("AGENT2_DEBUG"):
            Console(stderr=True).print(
                f"agent2 met an error of its own: {type(cause).__name__}: {cause}\nRun it again with `agent2 --debug …` and report it.",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
        return EXIT_FAILED
    console = Console(stderr=True)
    console.print(f"Error: {cause.message}", style="red", markup=False, highlight=False, soft_wrap=True)
    if cause.advice:
        console.print(cause.advice, markup=False, highlight=False, soft_wrap=True)
    return EXIT_USAGE if isinstance(cause, CorrectableError) else EXIT_FAILED


_EXTRA_OF = {
    "torch": "train", "tianshou": "train", "optuna": "train", "tensorboard": "train", "safetensors": "train",
    "jinja2": "train", "scipy": "metrics", "matplotlib": "metrics", "anthropic": "llm", "openai": "openai",
}  # fmt: skip


def _with_advice(error: BaseException) -> BaseException:
    """A missing package of an extra, or a full disk, is for the person to mend: no error of ours."""
    if isinstance(error, ModuleNotFoundError) and (extra := _EXTRA_OF.get((error.name or "").partition(".")[0])):
        return PrerequisiteError(
            f"The package {error.name!r} is not installed.", f"Type: pip install 'agent-squared[{extra}]'"
        )
    is_full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    if is_full or (isinstance(error, sqlite3.OperationalError) and "disk is full" in str(error)):
        return PrerequisiteError(
            f"The disk is full ({error}).",
            "Free some (`agent2 clean NAME`), then go on with `agent2 resume NAME`: finished runs are kept.",
        )
    return error


def innermost(error: BaseException) -> BaseException:
    """Unwrap nested exception groups down to the first foreseen error, else to the first of all."""
    if isinstance(error, BaseExceptionGroup):
        inner: list[BaseException] = [innermost(each) for each in error.exceptions]  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType, reportUnknownArgumentType]
        foreseen = [each for each in inner if isinstance(each, Agent2Error)]
        return (foreseen or inner)[0]
    return error
