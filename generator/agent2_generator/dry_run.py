"""`agent2 build … --dry-run`: the prompts that would be sent, their tokens and price; nothing is sent or trained."""

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console

from agent2_generator.baselines import create_baselines
from agent2_generator.budget import Clock
from agent2_generator.built_in import BuiltInDesigner
from agent2_generator.cli import EXIT_OK
from agent2_generator.designer import Archive
from agent2_generator.display import Display
from agent2_generator.language.asking import form
from agent2_generator.language.choosing import NO_MODEL, parse_choice
from agent2_generator.language.fitting import PROMPT_TOKENS, fitted
from agent2_generator.language.protocol import Question, estimate_tokens
from agent2_generator.language_choice import describe_designer, open_ledger
from agent2_generator.language_designer import analysis_prompt
from agent2_generator.language_stages.modelling import part_prompt
from agent2_generator.language_stages.workplace import may_design
from agent2_generator.options import BuildOptions, DesignPart
from agent2_generator.places import resolve_environment
from agent2_generator.servers import Servers, connect_servers
from agent2_generator.session import Session
from agent2_generator.understand import understand
from agent2_schemas import CorrectableError
from agent2_workspace import Journal, Workspace

USUAL_ANSWER_TOKENS = 1_500
"""What an answer of one stage usually has, thinking left out."""
_PARTS: tuple[DesignPart, ...] = ("observation", "action", "reward")
_PROMPTS: dict[DesignPart, str] = {
    "algorithm": "select_algorithm",
    "network": "design_network",
    "hyperparameters": "tune_hyperparameters",
}


@dataclass(frozen=True)
class Planned:
    """One question as it would be sent."""

    stage: str
    text: str

    @property
    def tokens(self) -> int:
        """Estimated tokens of the prompt."""
        return estimate_tokens(self.text)


def show_dry_run(options: BuildOptions) -> int:
    """Print every prompt of the analysis and of the first design, then tokens and price.

    Raises:
        CorrectableError: there is no language model to send anything to.
        Agent2Error: the environment cannot be used.
    """
    if parse_choice(options.llm).provider == NO_MODEL:
        raise CorrectableError("Without a language model nothing is sent anywhere.", "Name one with --llm.")
    with tempfile.TemporaryDirectory(prefix="agent2-dry-run-") as folder:
        place = Workspace(Path(folder))
        ledger = open_ledger(options, Journal(place.root / "journal.sqlite"))
        planned = asyncio.run(_planned(options, place))
    for each in planned:
        click.echo(f"===== {each.stage}: about {each.tokens:,} tokens =====\n{each.text}\n")
    answers = USUAL_ANSWER_TOKENS * len(planned)
    prompts = sum(each.tokens for each in planned)
    usual = ledger.estimate_usd(prompts, answers) if ledger else None
    most = ledger.estimate_usd(PROMPT_TOKENS, Question.model_fields["max_output_tokens"].default) if ledger else None
    click.echo(describe_designer(options))
    click.echo(
        f"First design: {len(planned)} calls, about {prompts:,} tokens of prompts and {answers:,} of answers, {_usd(usual)}."
    )
    click.echo(
        f"Each later round and each repair: one call of at most {PROMPT_TOKENS:,} tokens of prompt, at most {_usd(most)}; "
        "its prompt holds scores, curves, diagnosis, attempts and the present design."
    )
    click.echo("Nothing was sent, nothing was trained, no project was made.")
    return EXIT_OK


async def _planned(options: BuildOptions, place: Workspace) -> list[Planned]:
    _, roots, _ = resolve_environment(options.environment, ())
    display = Display(Console(stderr=True))
    async with connect_servers(workspace=place.root, roots=roots, addresses=options.addresses) as servers:
        session = Session(options, place, servers, display, BuiltInDesigner(), Clock(options.budget))
        facts = await understand(session)
        baselines = await create_baselines(session, facts, Archive())
        champion = baselines["tuned preset"]
        system = form("system")
        planned = [Planned("analysis", f"{system}\n{fitted(await analysis_prompt(servers, facts))}")]
        wait = "\n## Analysis of this problem\n(the answer to the first question)\n\n"
        for part in options.design_parts:
            if part == "algorithm" and options.algorithm is not None:
                continue
            if part in _PARTS and may_design(facts, part):
                text = await part_prompt(servers, options.project, champion.recipe, champion.id, part)
            else:
                text = await _training_prompt(servers, options.project, part, champion.id)
            planned.append(Planned(part, f"{system}{wait}{fitted(text)}"))
        return planned


async def _training_prompt(servers: Servers, project: str, part: DesignPart, candidate_id: str) -> str:
    return await servers.get_prompt("training", _PROMPTS[part], project=project, candidate=candidate_id)


def _usd(value: float | None) -> str:
    return "price unknown" if value is None else f"US$ {value:.4f}"
