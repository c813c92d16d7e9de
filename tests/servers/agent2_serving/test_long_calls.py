"""Work that outlasts one call: started once, handed out once, never lost to a client that leaves."""

import asyncio

import anyio
import pytest

from agent2_serving import LongCalls
from agent2_serving.long_calls import WAIT_SECONDS
from agent2_serving.server import ANSWER_SECONDS

pytestmark = pytest.mark.anyio


async def test_a_call_waits_less_than_the_deadline_of_an_answer() -> None:
    assert WAIT_SECONDS + 10 <= ANSWER_SECONDS <= 40


async def test_two_callers_of_one_key_start_the_work_once() -> None:
    calls, started = LongCalls(), 0

    async def start() -> int:
        nonlocal started
        started += 1
        await anyio.sleep(0.05)
        return started

    with anyio.fail_after(5):
        values = await asyncio.gather(calls.result("k", start), calls.result("k", start))
    assert values == [1, 1]
    assert started == 1


async def test_a_value_is_handed_out_once_and_a_later_call_starts_anew() -> None:
    calls, started = LongCalls(), 0

    async def start() -> int:
        nonlocal started
        started += 1
        return started

    with anyio.fail_after(5):
        assert await calls.result("k", start) == 1
        assert await calls.result("k", start) == 2


async def test_a_call_returns_none_while_the_work_runs_and_the_value_later() -> None:
    calls, finish = LongCalls(), anyio.Event()

    async def start() -> str:
        await finish.wait()
        return "value"

    with anyio.fail_after(5):
        assert await calls.result("k", start, wait_seconds=0) is None
        assert calls.is_running("k")
        finish.set()
        assert await calls.result("k", start) == "value"
        assert not calls.is_running("k")


async def test_an_exception_reaches_one_caller_and_the_key_is_forgotten() -> None:
    calls, should_fail = LongCalls(), True

    async def start() -> str:
        if should_fail:
            raise ValueError("no")
        return "yes"

    with anyio.fail_after(5):
        with pytest.raises(ValueError, match="no"):
            await calls.result("k", start)
        should_fail = False
        assert await calls.result("k", start) == "yes"


async def test_a_caller_that_leaves_does_not_stop_the_work() -> None:
    calls, finish = LongCalls(), anyio.Event()

    async def start() -> str:
        await finish.wait()
        return "value"

    with anyio.fail_after(5):
        with anyio.move_on_after(0.05):
            await calls.result("k", start)
        assert calls.is_running("k")
        finish.set()
        assert await calls.result("k", start) == "value"


async def test_work_that_was_cancelled_is_an_error_and_not_a_silent_end() -> None:
    calls = LongCalls()

    async def start() -> str:
        raise asyncio.CancelledError

    with anyio.fail_after(5), pytest.raises(RuntimeError, match="cancelled"):
        await calls.result("k", start)
