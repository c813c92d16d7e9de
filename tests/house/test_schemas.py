"""The vocabulary: every value is frozen and closed, and every field says what it holds."""

from pydantic import BaseModel

import agent2_schemas

MODELS = {
    name: value
    for name, value in vars(agent2_schemas).items()
    if isinstance(value, type) and issubclass(value, BaseModel) and value is not agent2_schemas.Frozen
}


def test_every_field_says_what_it_holds() -> None:
    silent = [
        f"{name}.{field}"
        for name, model in MODELS.items()
        for field, description in model.model_fields.items()
        if not description.description
    ]
    assert MODELS
    assert silent == []


def test_every_value_is_frozen_and_refuses_unknown_fields() -> None:
    loose = [
        name
        for name, model in MODELS.items()
        if not model.model_config.get("frozen") or model.model_config.get("extra") != "forbid"
    ]
    assert loose == []


def test_every_schema_has_a_json_form_and_a_sentence_of_its_own() -> None:
    for name, model in MODELS.items():
        assert model.model_json_schema(), name
        assert (model.__doc__ or "").strip(), name


def test_what_is_exported_exists() -> None:
    assert [name for name in agent2_schemas.__all__ if not hasattr(agent2_schemas, name)] == []
