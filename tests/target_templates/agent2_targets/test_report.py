"""The report: self-contained, escaped, and honest about what is missing."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from agent2_schemas import (
    Arm,
    Attempt,
    BoxSpace,
    Comparison,
    Design,
    Diagnosis,
    DiscreteSpace,
    EnvironmentReference,
    EnvironmentReport,
    Evaluation,
    MdpDesign,
    NetworkDesign,
    PPOHyperparameters,
    Project,
    Verdict,
)  # fmt: skip
from agent2_targets.report import ReportCurve, ReportData, Spent, render_report
from agent2_targets.report.charts import arms_chart, curves_chart, short

HOSTILE = '<script>alert("x")</script>&{{ 7*7 }}'


def project(**changes: Any) -> Project:
    values: dict[str, Any] = {
        "name": "pole", "task": "balance", "environment": EnvironmentReference(name="CartPole-v1"),
        "created_at": "2026-01-01T00:00:00+00:00", "agent2_version": "0",
    }  # fmt: skip
    return Project(**(values | changes))


def data(**changes: Any) -> ReportData:
    values: dict[str, Any] = {"project": project(), "created_at": "2026-01-01T00:00:00+00:00"}
    return ReportData(**(values | changes))


def arm(name: str, *scores: float | None) -> Arm:
    return Arm(
        name=name, candidate_id="c1", run_ids=tuple(f"r{i}" for i in range(len(scores))), run_scores=scores,
        failures=scores.count(None), interquartile_mean=2.0, mean=2.0, min=1.0, interval_low=1.0, interval_high=3.0,
        episodes_per_run=20, budget_env_steps=1000,
    )  # fmt: skip


def verdict() -> Verdict:
    comparison = Comparison(
        baseline="tuned preset", difference=0.5, interval_low=-0.5, interval_high=1.5,
        probability_of_improvement=0.7, word="not shown",
    )  # fmt: skip
    return Verdict(
        word="not shown", reason="The interval holds zero.", arms=(arm("winner", 1.0, 2.0, None), arm("tuned preset", 2.0)),
        comparisons=(comparison,), resamples=10, search_score=3.25, retest_score=1.75, warnings=("few seeds",),
    )  # fmt: skip


def design(**changes: Any) -> Design:
    box = BoxSpace(shape=(4,), dtype="float32", low=None, high=None)
    hyperparameters = PPOHyperparameters(
        learning_rate=3e-4, gamma=0.99, num_envs=4, rollout_steps=64, gae_lambda=0.95, entropy_coefficient=0.01,
        value_coefficient=0.5, max_gradient_norm=0.5, minibatch_size=64, epochs=10, clip_range=0.2,
    )  # fmt: skip
    mdp = MdpDesign(
        environment_observation_space=box, environment_action_space=DiscreteSpace(n=2), observation_space=box,
        action_space=DiscreteSpace(n=2), is_declared_only=False, parts=("reward",), reward_weights={"energy": 0.05},
    )  # fmt: skip
    values: dict[str, Any] = {
        "candidate_id": "c1", "mdp": mdp, "algorithm": "PPO", "network": NetworkDesign(),
        "hyperparameters": hyperparameters, "budget_env_steps": 1000, "sources": ("RL-Zoo3",),
    }  # fmt: skip
    return Design(**(values | changes))


class Tags(HTMLParser):
    """Checks that tags nest, and collects them."""

    VOID = frozenset({"meta", "br", "line", "rect", "circle", "polyline", "path"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag not in self.VOID or tag == "polyline":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def full() -> ReportData:
    attempts = (
        Attempt(candidate_id="c1", parent_id=None, change="first", reason="prior", scores=(1.0,), shrunken_mean=1.0),
        Attempt(candidate_id="c2", parent_id="c1", change=HOSTILE, reason=HOSTILE, decision="winner"),
    )
    return data(
        project=project(task=HOSTILE, context=HOSTILE), verdict=verdict(), verdict_word="not shown",
        verdict_reason=HOSTILE, design=design(title=HOSTILE, sources=(HOSTILE,)), mdp_code=f"# {HOSTILE}\n",
        attempts=attempts, diagnosis=Diagnosis(source="r1", findings=(), healthy=("a",), not_checked={"b": HOSTILE}),
        diagnosis_run="r1", spent=Spent(env_steps=1_234_567, tokens=9000, usd=0.25, model_calls=3),
        curves=(ReportCurve(run_id="r1", candidate_id="c1", purpose="search", x=(0, 1, 2), values=(1, None, 3)),),
        not_enforced={"Training, tier B": (HOSTILE,)},
    )  # fmt: skip


def test_every_text_is_escaped_and_every_tag_closed() -> None:
    page = render_report(full())
    assert "<script" not in page
    assert "49" not in re.findall(r"alert[^<]*", page)[0]
    tags = Tags()
    tags.feed(page)
    assert tags.open == []


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    page = render_report(full()).replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://|src=|@import|url\(", page)
    assert "default-src 'none'" in page
    assert 'name="viewport"' in page
    assert "prefers-color-scheme:dark" in page


def test_verdict_and_agent_score_come_first_and_are_told_apart() -> None:
    page = render_report(full())
    assert page.index("Design verdict") < page.index("Agent score") < page.index("two different numbers")
    assert page.index("two different numbers") < page.index("The arms")


def test_search_and_re_test_stand_side_by_side() -> None:
    page = render_report(full())
    assert page.index("3.25") < page.index("1.75") < page.index("The arms")


def test_what_is_missing_is_said() -> None:
    page = render_report(data())
    for words in (
        "not tested", "No comparison was made", "No agent was delivered", "There was no re-test", "No run has written",
        "No design was written", "No refinement was recorded", "The run was not diagnosed",
        "The environment was not inspected", "Nothing was recorded about isolation", "not recorded", "none was used",
    ):  # fmt: skip
        assert words in page
    assert "None" not in re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)


def test_a_missing_number_reads_unknown_and_never_zero() -> None:
    card = Evaluation(
        evaluation_id="e1", state="finished", project="pole", run_id="r1", candidate_id="c1", checkpoint_env_steps=1,
        purpose="card", mode="deterministic", episodes=20, mean_original_return=475.0,
    )  # fmt: skip
    page = render_report(data(card=card))
    assert "475" in page
    assert "Worst episode unknown, best unknown" in page
    assert short(None) == short(float("nan")) == "unknown"


def test_the_lineage_shows_children_under_their_parents() -> None:
    names = ["c1", "c2", "c3", "c4"]
    parents = [None, "c1", None, "c2"]
    attempts = tuple(
        Attempt(candidate_id=name, parent_id=parent, change="x", reason="y")
        for name, parent in zip(names, parents, strict=True)
    )
    page = render_report(data(attempts=attempts))
    order = [page.index(f">{arrow}{name}<") for arrow, name in (("", "c1"), ("↳ ", "c2"), ("↳ ", "c4"), ("", "c3"))]
    assert order == sorted(order)


def test_attempts_that_name_each_other_as_parents_are_all_shown() -> None:
    attempts = tuple(
        Attempt(candidate_id=a, parent_id=b, change="x", reason="y") for a, b in (("c1", "c2"), ("c2", "c1"))
    )
    page = render_report(data(attempts=attempts))
    assert ">c1<" in page
    assert ">c2<" in page


def test_a_price_that_is_not_known_is_not_called_free() -> None:
    assert "price unknown" in render_report(data(spent=Spent(tokens=10, model_calls=1)))


def test_environment_facts_are_told() -> None:
    box = BoxSpace(shape=(4,), dtype="float32", low=None, high=None)
    report = EnvironmentReport(
        reference=EnvironmentReference(name="CartPole-v1"), observation_space=box, action_space=DiscreteSpace(n=2),
        max_episode_steps=None, is_deterministic=None, step_seconds=None, reset_seconds=None, start_seconds=None, episodes=(),
    )  # fmt: skip
    page = render_report(data(environment=report))
    for words in ("box of shape [4], float32, unbounded to unbounded", "2 choices", "not measured", "unknown µs"):
        assert words in page


@pytest.mark.parametrize("values", [(5.0, 5.0), (1e9, -1e9), (0.0, 1e-9), (None, 2.0)])
def test_curves_of_any_scale_are_drawn(values: tuple[float | None, ...]) -> None:
    curve = ReportCurve(run_id="r1", candidate_id="c1", purpose="search", x=(0, 10), values=values)
    drawn = curves_chart([curve], ["c1"], "x")
    assert "<polyline" in drawn
    assert "nan" not in drawn


def test_nothing_to_draw_is_no_picture() -> None:
    empty = ReportCurve(run_id="r1", candidate_id="c1", purpose="search", x=(0,), values=(None,))
    assert curves_chart([empty], ["c1"], "x") == ""
    nothing = arm("a", None).model_copy(update={"interval_low": None, "interval_high": None})
    assert arms_chart([nothing], []) == ""
