"""Prompts of bounded size: what is too long is shortened in its longest part, and the cut is said."""

import re

from agent2_generator.language.protocol import estimate_tokens

PROMPT_TOKENS = 24_000
"""Most tokens of one prompt, as `estimate_tokens` counts them, however long source, curves or journal are."""
_FENCED = re.compile(r"^(`{3,})[^\n`]*\n(.*?)^\1`*[ \t]*$", re.MULTILINE | re.DOTALL)
_SOURCE_HEADING = "## Source of the environment"
_NEXT_HEADING = "## What to write"
NOT_SENT = "(not sent: the person who asks keeps the source private; design from the measured facts)"


def fitted(prompt: str, *, tokens: int = PROMPT_TOKENS) -> str:
    """Shorten a prompt to a token budget.

    Args:
        prompt: the whole prompt.
        tokens: its budget.

    Returns:
        The prompt, with the middle of its longest fenced block left out first, then the middle of the whole: task and
        instructions at both ends stay.
    """
    for _ in range(8):
        if estimate_tokens(prompt) <= tokens:
            return prompt
        blocks = list(_FENCED.finditer(prompt))
        longest = max(blocks, key=lambda block: len(block[2]), default=None)
        if longest is None or len(longest[2]) < 2_000:
            break
        excess = len(prompt.encode()) - 3 * tokens + 200
        kept = max(500, len(longest[2]) - excess)
        prompt = prompt[: longest.start(2)] + _shortened(longest[2], kept) + prompt[longest.end(2) :]
    while estimate_tokens(prompt) > tokens:
        kept = int(len(prompt) * 0.98 * 3 * tokens / len(prompt.encode())) - 200
        prompt = _shortened(prompt, kept)
    return prompt


def without_source(prompt: str) -> str:
    """Take the environment's source out of the analysis prompt.

    Raises:
        ValueError: the prompt has no such section, so nothing can be promised.
    """
    start, end = prompt.find(_SOURCE_HEADING), prompt.rfind(_NEXT_HEADING)
    if start < 0 or end < start:
        raise ValueError(f"the analysis prompt has no section {_SOURCE_HEADING!r}")
    return f"{prompt[:start]}{_SOURCE_HEADING}\n{NOT_SENT}\n\n{prompt[end:]}"


def _shortened(text: str, kept: int) -> str:
    """Keep the first two thirds and the last third of `kept` characters."""
    head, tail = kept * 2 // 3, kept // 3
    left_out = len(text) - head - tail
    return f"{text[:head]}\n[… {left_out:,} characters left out …]\n{text[len(text) - tail :]}"
