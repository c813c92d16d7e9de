"""From the options of a build to its designer: the model, its ledger, what is said at the start and at the end."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from agent2_generator.built_in import BuiltInDesigner
from agent2_generator.designer import Designer
from agent2_generator.language.choosing import NO_MODEL, connect_model, default_choice, keys_file, parse_choice
from agent2_generator.language.ledger import Ledger
from agent2_generator.language.prices import read_prices
from agent2_generator.language_designer import LanguageModelDesigner
from agent2_generator.options import BuildOptions
from agent2_generator.servers import Servers
from agent2_schemas import BuildResult
from agent2_workspace import Journal


def open_ledger(options: BuildOptions, journal: Journal) -> Ledger | None:
    """Make the chosen model and its ledger; None for the built-in designer.

    Raises:
        PrerequisiteError: an extra, a key, a program or a price is missing.
    """
    choice = parse_choice(options.llm)
    if choice.provider == NO_MODEL:
        return None
    model = connect_model(choice, answered=len(journal.events(kind="llm-answer")))
    prices = read_prices(keys_file().with_name("prices.toml"))
    return Ledger(journal, model, max_usd=options.max_usd, max_tokens=options.max_tokens, prices=prices)


def make_designer(
    options: BuildOptions, servers: Servers, ledger: Ledger | None, note: Callable[[str], None]
) -> Designer:
    """Make the designer of a build."""
    if ledger is None:
        return BuiltInDesigner()
    return LanguageModelDesigner(options.project, servers, ledger, ledger.journal, note)


@asynccontextmanager
async def closing(ledger: Ledger | None) -> AsyncGenerator[None]:
    """Close the model's connections at the end."""
    try:
        yield
    finally:
        if ledger is not None:
            await ledger.model.close()


def describe_designer(options: BuildOptions) -> str:
    """Say at the start who designs, and what is sent where."""
    if parse_choice(options.llm).provider == NO_MODEL:
        choice, why = default_choice()
        return f"designer: built-in, no language model ({why if choice.provider == NO_MODEL else 'as asked'})"
    caps = [f"at most {options.max_tokens:,} tokens"] if options.max_tokens else []
    caps += [f"at most US$ {options.max_usd:g}"] if options.max_usd else []
    source = "the environment's source is sent" if options.is_source_sent else "the environment's source is not sent"
    return f"designer: language model {options.llm}; {'; '.join([*caps, source])}"


def with_costs(result: BuildResult, ledger: Ledger | None) -> BuildResult:
    """Add what the language model's calls cost."""
    if ledger is None:
        return result
    spent = ledger.spent()
    known = None if spent.usd is None or spent.possibly_paid_usd is None else spent.usd + spent.possibly_paid_usd
    return result.model_copy(update={"tokens": spent.tokens, "usd": known})


def describe_costs(result: BuildResult) -> str:
    """What a person reads of it; empty where no model was asked."""
    if not result.tokens:
        return ""
    return f"{result.tokens:,} tokens, {'price unknown' if result.usd is None else f'US$ {result.usd:.4f}'}"
