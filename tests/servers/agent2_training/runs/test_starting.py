"""What `start_training` prepares and refuses, before any process."""

import json

import pytest

from agent2_schemas import CodeRejected, CorrectableError, NotFound
from agent2_training.runs.starting import RESUME_FILE, RunRequest, prepare_run
from agent2_training.runs.status import UnstartedEnd, unstarted_file
from agent2_workspace import CandidateFolder, ProjectFolder, RunFolder, write_json, write_whole


def request(**values: object) -> RunRequest:
    return RunRequest.model_validate({"project": "pole", "candidate": "c1", **values})


def end(run: RunFolder) -> None:
    write_json(unstarted_file(run), UnstartedEnd(state="stopped", outcome="cancelled", message=""))


def test_a_run_trains_a_frozen_copy_of_its_candidate(cartpole: ProjectFolder, candidate: CandidateFolder) -> None:
    before = candidate.mdp_file.read_text()
    run = prepare_run(cartpole, request())
    write_whole(candidate.mdp_file, "changed = True\n")

    assert (run.candidate_copy / "mdp.py").read_text() == before
    assert {path.name for path in run.candidate_copy.iterdir()} == {"design.yaml", "mdp.py", "policy.py"}
    assert json.loads((run.root / "reference.json").read_text())["reference"]["name"] == "CartPole-v1"


def test_the_specification_has_the_projects_training_seed_and_the_overridden_budget(
    cartpole: ProjectFolder, candidate: CandidateFolder
) -> None:
    run = prepare_run(cartpole, request(seed_index=3, budget_env_steps=77, purpose="verdict", lease="stop"))
    specification = run.read_specification()

    assert specification.training_seed == cartpole.seeds("training", 4)[3]
    assert (specification.budget_env_steps, specification.purpose, specification.lease) == (77, "verdict", "stop")
    assert [event.subject for event in cartpole.journal.events(kind="run-started")] == [run.id]


def test_the_budget_is_the_designs_unless_overridden(cartpole: ProjectFolder, candidate: CandidateFolder) -> None:
    assert prepare_run(cartpole, request()).read_specification().budget_env_steps == 10_000


def test_an_unverified_candidate_is_refused(cartpole: ProjectFolder, candidate: CandidateFolder) -> None:
    candidate.verification_file.unlink()

    with pytest.raises(CodeRejected, match="write_mdp"):
        prepare_run(cartpole, request())


def test_a_rejected_candidate_is_refused_with_its_findings(cartpole: ProjectFolder, candidate: CandidateFolder) -> None:
    report = json.loads(candidate.verification_file.read_text())
    finding = {"code": "nan", "severity": "error", "message": "reward is nan at step 3"}
    candidate.verification_file.write_text(json.dumps({**report, "is_accepted": False, "findings": [finding]}))

    with pytest.raises(CodeRejected, match="reward is nan at step 3"):
        prepare_run(cartpole, request())
    assert cartpole.run_ids() == ()


def test_a_missing_design_is_named(cartpole: ProjectFolder, candidate: CandidateFolder) -> None:
    candidate.design_file.unlink()

    with pytest.raises(NotFound, match="write_training"):
        prepare_run(cartpole, request())


def test_equal_keys_give_one_run(cartpole: ProjectFolder, candidate: CandidateFolder) -> None:
    first = prepare_run(cartpole, request(idempotency_key="k"))
    second = prepare_run(cartpole, request(idempotency_key="k"))
    other = prepare_run(cartpole, request(idempotency_key="l"))

    assert first.id == second.id != other.id


def test_another_specification_under_a_used_key_is_an_error(
    cartpole: ProjectFolder, candidate: CandidateFolder
) -> None:
    prepare_run(cartpole, request(idempotency_key="k"))

    with pytest.raises(CorrectableError, match="seed_index 0, now 1"):
        prepare_run(cartpole, request(idempotency_key="k", seed_index=1))


def test_a_crash_between_journal_and_folder_is_mended_by_the_same_call(
    cartpole: ProjectFolder, candidate: CandidateFolder
) -> None:
    first = prepare_run(cartpole, request(idempotency_key="k"))
    first.specification_file.unlink()

    assert prepare_run(cartpole, request(idempotency_key="k")).id == first.id
    assert first.read_specification().run_id == first.id


def test_a_resume_copies_the_last_accepted_checkpoint(
    cartpole: ProjectFolder, candidate: CandidateFolder, run: RunFolder
) -> None:
    end(run)
    resumed = prepare_run(cartpole, request(resume_from=run.id, budget_env_steps=500))

    assert (resumed.root / RESUME_FILE).read_bytes() == (run.checkpoints / "100.safetensors").read_bytes()
    assert resumed.read_specification().resume_from == run.id


def test_a_run_that_never_saved_hands_on_what_it_was_resumed_from(
    cartpole: ProjectFolder, candidate: CandidateFolder, run: RunFolder
) -> None:
    end(run)
    second = prepare_run(cartpole, request(resume_from=run.id, budget_env_steps=500))
    end(second)
    third = prepare_run(cartpole, request(resume_from=second.id, budget_env_steps=500))

    assert (third.root / RESUME_FILE).read_bytes() == (second.root / RESUME_FILE).read_bytes()


@pytest.mark.parametrize(("budget", "words"), [(100, "has 100 env steps already"), (50, "raise budget_env_steps")])
def test_a_resume_beyond_its_budget_is_refused(
    cartpole: ProjectFolder, candidate: CandidateFolder, run: RunFolder, budget: int, words: str
) -> None:
    end(run)

    with pytest.raises(CorrectableError, match=words):
        prepare_run(cartpole, request(resume_from=run.id, budget_env_steps=budget))


def test_a_resume_from_a_run_that_still_runs_is_refused(
    cartpole: ProjectFolder, candidate: CandidateFolder, run: RunFolder
) -> None:
    with pytest.raises(CorrectableError, match="Stop it first"):
        prepare_run(cartpole, request(resume_from=run.id))


def test_a_resume_without_a_checkpoint_is_refused(cartpole: ProjectFolder, candidate: CandidateFolder) -> None:
    first = prepare_run(cartpole, request())
    end(first)

    with pytest.raises(CorrectableError, match="no accepted checkpoint"):
        prepare_run(cartpole, request(resume_from=first.id))
