"""What a person sees: plain lines that are never read as markup."""

import io

from rich.console import Console

from agent2_generator.display import Display


def test_text_from_generated_code_is_shown_as_it_is() -> None:
    shown = io.StringIO()
    display = Display(Console(file=shown))
    with display:
        display.stage("search [bold]")
        display.note("c3 failed: cannot open [/data/x] in [word]")
    assert "cannot open [/data/x] in [word]" in shown.getvalue()
    assert "search [bold]" in shown.getvalue()
