"""The layout on disk, ids, locks, whole-file writes, the journal and the user's configuration."""

from agent2_workspace.configuration import (
    RunLimits,
    UserConfiguration,
    configuration_file,
    read_configuration,
    resolve_allowed_file,
)
from agent2_workspace.files import read_json, read_yaml, sha256_of, write_json, write_whole, write_yaml
from agent2_workspace.grants import Grant, Granted, Grants
from agent2_workspace.grants import describe as describe_grants
from agent2_workspace.journal import Event, Journal
from agent2_workspace.layout import CandidateFolder, ProjectFolder, RunFolder, Workspace, find_workspace
from agent2_workspace.locks import build_lock, short_lock
from agent2_workspace.seeds import SeedPurpose, fresh_seeds, seed_list, workspace_secret

__all__ = [
    "CandidateFolder", "Event", "Grant", "Granted", "Grants", "Journal", "ProjectFolder", "RunFolder", "RunLimits",
    "SeedPurpose", "UserConfiguration", "Workspace", "build_lock", "configuration_file", "describe_grants",
    "find_workspace", "fresh_seeds", "read_configuration", "read_json", "read_yaml", "resolve_allowed_file", "seed_list",
    "sha256_of", "short_lock", "workspace_secret", "write_json", "write_whole", "write_yaml",
]  # fmt: skip
