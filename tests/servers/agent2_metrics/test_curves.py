"""Logs of every library under canonical names: signs, axes, NaN, holes, resumes, thinning."""

import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_runs import BUDGET, healthy_curves, write_log

from agent2_metrics.curves.canonical import canonical, meaning_of, recognise_library
from agent2_metrics.curves.read_child import main as read_curves
from agent2_metrics.curves.reading import LogUnreadable, read_log
from agent2_metrics.curves.series import thin

CASES = Path(__file__).parents[2] / "cases" / "tensorboard"


def read(arguments: dict[str, object]) -> dict[str, Any]:
    return read_curves(arguments)


def payload(folder: Path, **changes: object) -> dict[str, object]:
    return {"folder": str(folder), "names": [], "max_points": 50, "total_points": 400} | changes


@pytest.mark.parametrize(
    ("library", "name", "tag", "x_unit"),
    [
        ("sb3", "episode_return", "rollout/ep_rew_mean", "env_steps"),
        ("cleanrl", "episode_return", "charts/episodic_return", "env_steps"),
        ("rllib", "episode_return", "ray/tune/env_runners/episode_return_mean", "iterations"),
        ("rsl_rl", "action_std", "Policy/mean_std", "iterations"),
        ("tianshou", "value_loss", "update/vf_loss/mean", "updates"),
        ("tianshou", "eval_return", "test/returns_stat/mean", "env_steps"),
    ],
)
def test_each_library_is_recognised_and_its_tags_get_canonical_names(
    library: str, name: str, tag: str, x_unit: str
) -> None:
    (run,) = read_log(CASES / library)
    series = run.named()[name]
    assert (run.library, series.tag, series.x_unit) == (library, tag, x_unit)


def test_sb3_logs_the_negative_of_the_entropy() -> None:
    (run,) = read_log(CASES / "sb3")
    assert run.named()["entropy"].y[0] == pytest.approx(0.69, abs=1e-6)


def test_our_own_tags_are_known_although_sb3_shares_many_of_them(tmp_path: Path) -> None:
    (run,) = read_log(write_log(tmp_path, healthy_curves()))
    assert run.library == "agent2"
    assert {"episode_return", "shaped_return", "approx_kl", "entropy"} <= set(run.named())
    assert run.named()["entropy"].y[0] > 0
    assert meaning_of("rollout/reward_component/energy", "agent2").name == "reward_component/energy"


def test_a_second_critic_keeps_its_own_tag() -> None:
    (run,) = read_log(CASES / "cleanrl")
    assert run.named()["q_mean"].tag == "losses/qf1_values"
    assert "losses/qf2_values" in run.named()


def test_nan_and_infinity_are_counted_and_become_null() -> None:
    found = read(payload(CASES / "nan"))
    (curve,) = found["curves"]
    assert curve["nonfinite_count"] == 3
    assert curve["values"].count(None) == 3


def test_a_hole_where_the_writer_drops_nan_is_counted() -> None:
    (run,) = read_log(CASES / "rllib")
    holes = {series.name: series.hole_count for series in run.series}
    assert holes["value_loss"] == 6
    assert holes["entropy"] == 0


def test_folders_with_the_same_tags_are_different_runs() -> None:
    runs = read_log(CASES / "two_runs")
    assert [run.folder for run in runs] == ["seed_1", "seed_2"]
    found = read(payload(CASES / "two_runs"))
    assert [curve["name"] for curve in found["curves"]] == ["seed_1:episode_return", "seed_2:episode_return"]


def test_folders_with_different_tags_are_one_run(tmp_path: Path) -> None:
    write_log(tmp_path / "a", {"charts/episodic_return": ([1], [2.0])})
    write_log(tmp_path / "b", {"losses/entropy": ([1], [2.0])})
    (run,) = read_log(tmp_path)
    assert set(run.named()) == {"episode_return", "entropy"}


def test_a_resumed_run_replaces_what_came_after_its_checkpoint(tmp_path: Path) -> None:
    tag = "rollout/original_return"
    write_log(tmp_path / "one", {tag: ([10, 20, 30, 40], [1, 2, 3, 4])})
    write_log(tmp_path / "two", {tag: ([30, 40], [30, 40])})
    for number, name in enumerate(("one", "two")):
        (file,) = (tmp_path / name).iterdir()
        shutil.move(file, tmp_path / f"events.out.tfevents.{number}")
        (tmp_path / name).rmdir()
    (run,) = read_log(tmp_path)
    assert list(run.series[0].x[:2]) == [10, 20]
    assert list(run.series[0].y[-2:]) == [30, 40]
    assert len(run.series[0].x) in (4, 5)


def test_a_log_that_no_table_knows_is_read_under_its_own_tags() -> None:
    found = read(payload(CASES / "unknown"))
    assert found["library"] == "unknown"
    assert [curve["name"] for curve in found["curves"]] == ["my/metric"]


def test_a_link_inside_the_log_is_not_followed(tmp_path: Path) -> None:
    outside = write_log(tmp_path / "outside", {"a": ([1], [1.0])})
    log = write_log(tmp_path / "log", {"b": ([1], [1.0])})
    (log / "events.out.tfevents.9").symlink_to(next(outside.iterdir()))
    (run,) = read_log(log)
    assert set(run.named()) == {"b"}


def test_a_folder_without_events_says_so(tmp_path: Path) -> None:
    with pytest.raises(LogUnreadable, match="no event file"):
        read_log(tmp_path)


def test_a_cut_file_gives_what_it_holds(tmp_path: Path) -> None:
    log = write_log(tmp_path, {"rollout/original_return": (range(100), range(100))})
    (file,) = log.iterdir()
    file.write_bytes(file.read_bytes()[:-30])
    (run,) = read_log(log)
    assert 90 <= len(run.series[0].x) < 100


def test_asked_names_come_alone_and_missing_ones_are_named(tmp_path: Path) -> None:
    write_log(tmp_path, healthy_curves())
    found = read(payload(tmp_path, names=["original_return", "alpha"], max_points=10))
    (curve,) = found["curves"]
    assert (curve["name"], len(curve["x"]), curve["points"]) == ("episode_return", 10, 40)
    assert found["missing"] == ["alpha"]
    assert "train/entropy" in found["other_tags"]


def test_without_names_all_known_curves_share_the_points(tmp_path: Path) -> None:
    write_log(tmp_path, healthy_curves())
    found = read(payload(tmp_path, total_points=140))
    assert sum(len(curve["x"]) for curve in found["curves"]) <= 140
    assert all(curve["x"][-1] == BUDGET for curve in found["curves"])


def test_thinning_keeps_ends_spikes_and_nan() -> None:
    x, y = np.arange(1000.0), np.zeros(1000)
    y[503], y[700] = 50.0, math.nan
    keep = thin(x, y, 20)
    assert len(keep) == 20
    assert list(keep) == sorted(set(keep))
    assert {0, 503, 700, 999} <= set(keep.tolist())


@pytest.mark.parametrize("max_points", [2, 3, 7, 50])
def test_thinning_never_gives_more_than_asked(max_points: int) -> None:
    for count in (1, 2, 5, 49, 50, 51, 333):
        keep = thin(np.arange(float(count)), np.random.default_rng(count).normal(size=count), max_points)
        assert len(keep) == min(count, max_points)
        assert (np.diff(keep) > 0).all()


def test_library_and_names_fall_back_to_what_is_there() -> None:
    assert recognise_library(["x/y"]) == "unknown"
    assert canonical("fps") == "env_steps_per_second"
