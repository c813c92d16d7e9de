"""Small inline SVG charts that follow the page's colours."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, isfinite, log10

from markupsafe import Markup, escape

from agent2_schemas import Arm
from agent2_targets.report.data import ReportCurve

WIDTH, HEIGHT = 640, 260
LEFT, RIGHT, TOP, BOTTOM = 62, 12, 10, 30
COLOURS = 8
ROW = 46


@dataclass(frozen=True)
class _Scale:
    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / ((self.high - self.low) or 1.0) * (self.end - self.start)


def curves_chart(curves: Sequence[ReportCurve], candidates: Sequence[str], title: str) -> Markup:
    """Draw the learning curves of several runs: one thin line a run, one colour a candidate.

    Args:
        curves: the curves; those without a finite value are left out.
        candidates: order of colours.
        title: read out to those who do not see it.

    Returns:
        The SVG; empty where nothing can be drawn.
    """
    points = [(curve, _points(curve)) for curve in curves]
    points = [(curve, each) for curve, each in points if each]
    if not points:
        return Markup("")
    xs = [x for _, each in points for x, _ in each]
    ys = [y for _, each in points for _, y in each]
    x_scale = _Scale(min(0.0, min(xs)), max(xs), LEFT, WIDTH - RIGHT)
    low, high = _padded(min(ys), max(ys))
    y_scale = _Scale(low, high, HEIGHT - BOTTOM, TOP)
    parts = [_axes(x_scale, y_scale)]
    for curve, each in points:
        line = " ".join(f"{x_scale(x):.1f},{y_scale(y):.1f}" for x, y in each)
        colour = candidates.index(curve.candidate_id) % COLOURS
        parts.append(
            f'<polyline class="line c{colour}" points="{line}"><title>{escape(curve.candidate_id)} {escape(curve.run_id)}</title></polyline>'
        )
    return _svg("".join(parts), HEIGHT, title)


def arms_chart(arms: Sequence[Arm], candidates: Sequence[str]) -> Markup:
    """Draw each arm's interquartile mean with its interval, and every run as a dot; colours as in the curves."""
    values = [
        value for arm in arms for value in (*arm.run_scores, arm.interval_low, arm.interval_high) if value is not None
    ]
    if not values:
        return Markup("")
    low, high = _padded(min(values), max(values))
    scale = _Scale(low, high, 150, WIDTH - RIGHT - 8)
    height = ROW * len(arms) + 34
    parts: list[str] = []
    for row, arm in enumerate(arms):
        y = ROW * row + 24
        colour = (candidates.index(arm.candidate_id) if arm.candidate_id in candidates else row) % COLOURS
        parts.append(f'<text class="name" x="4" y="{y + 4}">{escape(arm.name[:22])}</text>')
        if arm.interval_low is not None and arm.interval_high is not None:
            parts.append(
                f'<line class="interval c{colour}" x1="{scale(arm.interval_low):.1f}" x2="{scale(arm.interval_high):.1f}" y1="{y}" y2="{y}"/>'
            )
        middle = arm.interquartile_mean if arm.interquartile_mean is not None else arm.mean
        if middle is not None:
            parts.append(
                f'<rect class="mark c{colour}" x="{scale(middle) - 3:.1f}" y="{y - 9}" width="6" height="18"/>'
            )
        dots = [score for score in arm.run_scores if score is not None]
        parts += [f'<circle class="dot" cx="{scale(score):.1f}" cy="{y + 15}" r="3"/>' for score in dots]
    axis_y = height - 18
    parts.append(f'<line class="axis" x1="{scale.start}" x2="{scale.end}" y1="{axis_y - 8}" y2="{axis_y - 8}"/>')
    for value in _ticks(low, high):
        parts.append(
            f'<text class="tick" text-anchor="middle" x="{scale(value):.1f}" y="{axis_y + 8}">{short(value)}</text>'
        )
    return _svg("".join(parts), height, "Scores of the arms")


def short(value: float | None) -> str:
    """A number in at most about six characters; `unknown` where there is none."""
    if value is None or not isfinite(value):
        return "unknown"
    if value and (abs(value) >= 1e6 or abs(value) < 1e-3):
        return f"{value:.2g}"
    return f"{value:.4g}"


def _points(curve: ReportCurve) -> list[tuple[float, float]]:
    return [(x, y) for x, y in zip(curve.x, curve.values, strict=True) if y is not None]


def _padded(low: float, high: float) -> tuple[float, float]:
    pad = (high - low) * 0.05 or max(abs(high) * 0.05, 0.5)
    return low - pad, high + pad


def _ticks(low: float, high: float) -> list[float]:
    raw = (high - low) / 4
    power = 10 ** floor(log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw)
    first = floor(low / step) + 1
    return [round(step * index, 12) for index in range(first, first + 8) if low <= step * index <= high]


def _axes(x_scale: _Scale, y_scale: _Scale) -> str:
    parts: list[str] = []
    for value in _ticks(y_scale.low, y_scale.high):
        y = y_scale(value)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" text-anchor="end" x="{LEFT - 6}" y="{y + 4:.1f}">{short(value)}</text>')
    for value in _ticks(x_scale.low, x_scale.high):
        parts.append(
            f'<text class="tick" text-anchor="middle" x="{x_scale(value):.1f}" y="{HEIGHT - BOTTOM + 16}">{_steps(value)}</text>'
        )
    return "".join(parts)


def _steps(value: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _svg(body: str, height: int, title: str) -> Markup:
    return Markup(
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}" xmlns="http://www.w3.org/2000/svg">{body}</svg>'
    )
