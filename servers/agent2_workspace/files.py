"""Files that matter are written whole: temporary, fsync, rename."""

import hashlib
import json
import os
import secrets
from pathlib import Path
from typing import Any, TypeVar

import yaml

from agent2_schemas import Frozen

Model = TypeVar("Model", bound=Frozen)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file so that a reader sees the old content or the new, never a part.

    Args:
        path: the file; its folder is made if missing.
        content: text (UTF-8) or bytes.

    Raises:
        OSError: the disk is full or the folder is not writable; the old file is untouched.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_json(path: Path, value: Frozen) -> None:
    """Write a schema value as indented JSON, whole."""
    write_whole(path, value.model_dump_json(indent=2) + "\n")


def read_json(path: Path, model: type[Model]) -> Model:
    """Read a schema value back.

    Raises:
        FileNotFoundError: there is no such file.
        pydantic.ValidationError: the file is not what the schema says.
    """
    return model.model_validate_json(path.read_bytes())


def write_yaml(path: Path, value: Frozen) -> None:
    """Write a schema value as YAML in field order, whole."""
    data: dict[str, Any] = json.loads(value.model_dump_json())
    write_whole(path, yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100))


def read_yaml(path: Path, model: type[Model]) -> Model:
    """Read a schema value back from YAML.

    Raises:
        FileNotFoundError: there is no such file.
        pydantic.ValidationError: the file is not what the schema says.
    """
    return model.model_validate_json(json.dumps(yaml.safe_load(path.read_text(encoding="utf-8"))))


def sha256_of(*parts: bytes | str) -> str:
    """Hash parts so that their borders count."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()
