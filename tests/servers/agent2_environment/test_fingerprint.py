"""The hash changes with what decides how an environment behaves, and with nothing else."""

from pathlib import Path

from agent2_environment.fingerprint import current_versions, fingerprint
from agent2_schemas import EnvironmentReference


def test_the_hash_follows_source_arguments_and_versions_but_not_the_place(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        (folder / "car.py").write_text("speed = 1\n")
    reference = EnvironmentReference(name="car.py:Car")
    packages = {"numpy": "2.0"}
    first = fingerprint(reference, folder=one, source_file="", packages=packages)
    assert fingerprint(reference, folder=other, source_file="", packages=packages) == first
    (other / "car.py").write_text("speed = 2\n")
    longer = EnvironmentReference(name="car.py:Car", keyword_arguments={"length": 3})
    others = {
        fingerprint(reference, folder=other, source_file="", packages=packages),
        fingerprint(longer, folder=one, source_file="", packages=packages),
        fingerprint(reference, folder=one, source_file="", packages={"numpy": "2.1"}),
    }
    assert len(others | {first}) == 4


def test_a_package_of_the_users_own_is_hashed_whole(tmp_path: Path) -> None:
    package = tmp_path / "driving"
    (package / "roads").mkdir(parents=True)
    for file in ("__init__.py", "roads/__init__.py", "roads/ring.py", "engine.py"):
        (package / file).write_text("")
    reference = EnvironmentReference(name="driving.roads.ring:Ring")
    source_file = str(package / "roads" / "ring.py")
    first = fingerprint(reference, folder=None, source_file=source_file, packages={})
    (package / "engine.py").write_text("power = 3\n")
    assert fingerprint(reference, folder=None, source_file=source_file, packages={}) != first


def test_a_package_that_is_gone_has_no_version() -> None:
    versions = current_versions({"numpy": "0", "no-such-package-at-all": "1"})
    assert versions["numpy"] != "0"
    assert versions["no-such-package-at-all"] == ""
