"""Errors carry what happened apart from what to do next."""

from agent2_schemas import Agent2Error, CodeRejected, CorrectableError, PrerequisiteError, RunFailed


def test_an_error_keeps_message_and_advice_apart_and_prints_both() -> None:
    error = CodeRejected("mdp.py has no reward.", "Define it.")
    assert (error.message, error.advice, str(error)) == (
        "mdp.py has no reward.",
        "Define it.",
        "mdp.py has no reward. Define it.",
    )


def test_the_three_addressees_are_apart() -> None:
    assert issubclass(CodeRejected, CorrectableError)
    for one in (CorrectableError, RunFailed, PrerequisiteError):
        assert issubclass(one, Agent2Error)
        assert not any(
            issubclass(one, other) for other in (CorrectableError, RunFailed, PrerequisiteError) if other is not one
        )
