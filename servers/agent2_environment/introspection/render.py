"""The child of `render_episode`: one episode of a fixed policy, drawn frame by frame."""

import contextlib
import importlib.util
import struct
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent2_environment.introspection.joint import build_any
from agent2_environment.introspection.notes import Notes
from agent2_environment.introspection.policies import make_policy
from agent2_environment.introspection.stepping import Deadlines, EnvironmentFailed, Stepper
from agent2_sandbox.child import serve_call

imageio: Any = importlib.import_module("imageio") if importlib.util.find_spec("imageio") else None
HAS_FFMPEG = importlib.util.find_spec("imageio_ffmpeg") is not None

Frame = NDArray[np.uint8]


def main(payload: dict[str, Any]) -> dict[str, Any]:
    """Draw one episode.

    Args:
        payload: `reference` and `root`, `folder`, `policy`, `seed`, `frames_at_most`, `seconds_at_most`, and the
            deadlines `start_seconds`, `step_seconds`, `first_seconds`.

    Returns:
        `file` (its name in the folder), `frames`, `original_return`.
    """
    notes = Notes(Path(payload["folder"]))
    notes.at("start", 0, payload["start_seconds"])
    adapted = build_any(payload["reference"], root=payload["root"], render_mode="rgb_array")
    draw_plainly(adapted.env.unwrapped)
    deadlines = Deadlines(step_seconds=payload["step_seconds"], first_seconds=payload["first_seconds"])
    stepper = Stepper(adapted.env, notes, deadlines)
    stepper.phase = "render"
    policy = make_policy(payload["policy"], adapted.env.action_space, payload["seed"])
    stepper.reset(payload["seed"])
    frames, original_return, begun, is_over = [_frame(stepper, deadlines, notes)], 0.0, time.monotonic(), False
    while not is_over and len(frames) < payload["frames_at_most"]:
        if time.monotonic() - begun > payload["seconds_at_most"]:
            break
        _, original_reward, terminated, truncated, _ = stepper.step(policy())
        original_return += original_reward
        frames.append(_frame(stepper, deadlines, notes))
        is_over = terminated or truncated
    notes.rest()
    with contextlib.suppress(Exception):  # the pictures are there; closing a window may fail in any way
        adapted.env.close()
    name = write_frames(Path(payload["folder"]), frames, float(adapted.env.metadata.get("render_fps") or 30))
    return {"file": name, "frames": len(frames), "original_return": original_return}


def draw_plainly(raw: Any) -> None:
    """Leave out shadows and anti-aliasing, which make software rendering of MuJoCo ten times slower."""
    with contextlib.suppress(AttributeError):
        raw.model.vis.quality.shadowsize = 0
        raw.model.vis.quality.offsamples = 0


def _frame(stepper: Stepper, deadlines: Deadlines, notes: Notes) -> Frame:
    notes.at("render", stepper.step_number, deadlines.first_seconds)
    try:
        frame = np.asarray(stepper.env.render())
    except Exception as error:
        raise EnvironmentFailed("render", stepper.step_number, error) from error
    if frame.ndim != 3 or frame.shape[2] not in (3, 4):
        raise ValueError(f"render gave shape {frame.shape}, a picture of (height, width, 3) is expected")
    return frame[:, :, :3].astype(np.uint8)


def write_frames(folder: Path, frames: list[Frame], fps: float) -> str:
    """Write a video where that is installed, else an animation, else the last frame; give the file's name."""
    if imageio is None:
        (folder / "episode.png").write_bytes(png(frames[-1]))
        return "episode.png"
    if HAS_FFMPEG:
        height, width = (size - size % 2 for size in frames[0].shape[:2])  # the codec takes even sizes only
        even = [frame[:height, :width] for frame in frames]
        imageio.mimsave(folder / "episode.mp4", even, fps=min(fps, 60), macro_block_size=1)
        return "episode.mp4"
    imageio.mimsave(folder / "episode.gif", frames, duration=1000 / min(fps, 50), loop=0)
    return "episode.gif"


def png(frame: Frame) -> bytes:
    """Write a picture `(height, width, 3)` as PNG with the standard library."""
    height, width = frame.shape[:2]
    rows = b"".join(b"\0" + frame[row].tobytes() for row in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )


if __name__ == "__main__":
    serve_call(main)
