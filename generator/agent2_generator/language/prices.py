"""What a call costs: a dated table; a model that is not in it costs `unknown`, never zero."""

import tomllib
from pathlib import Path

from pydantic import Field, ValidationError

from agent2_generator.language.protocol import Usage
from agent2_schemas import Frozen, PrerequisiteError

PRICES_AS_OF = "2026-12-01"
"""The day on which the table was read from https://platform.claude.com/docs (models)."""


class Price(Frozen):
    """US dollars per million tokens."""

    input: float = Field(ge=0, description="Uncached prompt.")
    output: float = Field(ge=0, description="Answer, thinking included.")
    cache_read: float = Field(default=0.0, ge=0, description="Prompt read from the provider's cache.")
    cache_write: float = Field(default=0.0, ge=0, description="Prompt written to the provider's cache for 5 minutes.")


def _anthropic(input_usd: float, output_usd: float) -> Price:
    """Anthropic's cache prices: writes at 1.25, reads at a tenth; newer models read for less, so this is never too low."""
    return Price(input=input_usd, output=output_usd, cache_read=input_usd * 0.1, cache_write=input_usd * 1.25)


PRICES: dict[str, Price] = {
    "anthropic:claude-opus-5-5": _anthropic(4, 20),
    "anthropic:claude-opus-5": _anthropic(5, 25),
    "anthropic:claude-sonnet-5-5": _anthropic(2, 10),
    "anthropic:claude-sonnet-5": _anthropic(2, 10),
    "anthropic:claude-haiku-4-5": _anthropic(1, 5),
    "anthropic:claude-fable-5-2": _anthropic(8, 40),
    "anthropic:claude-fable-5-1": _anthropic(10, 50),
}
"""By `provider:model`. Left out, hence unknown: models with prices that depend on the prompt's length."""
_FREE = ("command:", "replay:")


def read_prices(file: Path) -> dict[str, Price]:
    """Add the prices of `prices.toml` to the table: `["openai:my-model"]`, `input = 0.5`, `output = 1.5`.

    Raises:
        PrerequisiteError: the file holds something else.
    """
    if not file.exists():
        return dict(PRICES)
    try:
        own = tomllib.loads(file.read_text(encoding="utf-8"))
        return PRICES | {name: Price.model_validate(value) for name, value in own.items()}
    except (OSError, tomllib.TOMLDecodeError, ValidationError) as error:
        raise PrerequisiteError(f"{file} is no price table: {error}.", "See docs/language-models.md.") from error


def price_usd(name: str, usage: Usage, table: dict[str, Price]) -> float | None:
    """Price one call.

    Args:
        name: `provider:model`.
        usage: tokens of the call.
        table: prices by name.

    Returns:
        US dollars; 0 for recordings and own programs; None where the model's price is not known.
    """
    if name.startswith(_FREE):
        return 0.0
    price = table.get(name)
    if price is None:
        return None
    return (
        usage.input_tokens * price.input
        + usage.output_tokens * price.output
        + usage.cache_read_tokens * price.cache_read
        + usage.cache_write_tokens * price.cache_write
    ) / 1e6
