"""JSON Schema of the config file, for editors that complete and check TOML by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memoryd.config.parse import ENGINES, LOG_LEVELS, REVIEWS, SELECTORS, fields_of
from memoryd.config.schema import Config, ProjectOptions
from memoryd.engines.model.prices import Price

_CHOICES = {
    "engine": ENGINES,
    "review": REVIEWS,
    "log.level": LOG_LEVELS,
    "recall.selector": SELECTORS,
}


def json_schema() -> dict[str, Any]:
    """The schema of everything that the config accepts; each key has the sentence of the example file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "memoryd",
        **_table(Config, Config(), ""),
    }


def _table(kind: type[Any], defaults: Any, where: str) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for name, field in fields_of(kind).items():
        path = f"{where}.{name}" if where else name
        default = getattr(defaults, name)
        if field.key is None:
            properties[name] = _table(field.kind, default, path)
            continue
        properties[name] = {"description": field.key.sentence, **_value(field.kind)}
        if path in _CHOICES:
            properties[name]["enum"] = list(_CHOICES[path])
        if field.key.least is not None:
            properties[name]["minimum"] = field.key.least
        if default is not None:
            properties[name]["default"] = list(default) if isinstance(default, tuple) else _plain(default)
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _plain(default: Any) -> Any:
    return dict(default) if isinstance(default, Mapping) else default


def _value(hint: Any) -> dict[str, Any]:
    if hint is bool:
        return {"type": "boolean"}
    if hint is int:
        return {"type": "integer"}
    if hint is float:
        return {"type": "number"}
    if hint == tuple[str, ...]:
        return {"type": "array", "items": {"type": "string"}}
    if hint == Mapping[str, Price]:
        number = {"type": "number", "minimum": 0}
        price = {
            "type": "object",
            "properties": dict.fromkeys(Price._fields, number),
            "required": ["input", "output"],
            "additionalProperties": False,
        }
        return {"type": "object", "additionalProperties": price}
    if hint == Mapping[str, ProjectOptions]:
        options = {name: {"type": "boolean"} for name in ProjectOptions._fields}
        project = {"type": "object", "properties": options, "additionalProperties": False}
        return {"type": "object", "additionalProperties": project}
    if hint == Mapping[str, str]:
        return {"type": "object", "additionalProperties": {"type": "string"}}
    return {"type": "string"}
