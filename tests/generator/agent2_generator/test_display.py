"""What is shown is shown word for word."""

import io

from rich.console import Console

from agent2_generator.display import Display


def test_words_of_a_language_model_are_no_markup() -> None:
    shown = io.StringIO()
    with Display(Console(file=shown, width=200)) as display:
        display.stage("understand x[/b]:Class")
        display.note("action: [/bold] clip to [0, 1] [red]now")
    assert "understand x[/b]:Class" in shown.getvalue()
    assert "action: [/bold] clip to [0, 1] [red]now" in shown.getvalue()
