"""From strangers' text to a record, or to an error a person can act on.

YAML is read without aliases (a few bytes can expand to gigabytes), without duplicate keys (the
last one would silently win), and from at most 256 KiB. JSON is read without duplicate keys, NaN
or infinity. Every problem found is named: where in the file, what was expected, what was
found, and for a misspelt key the nearest valid one.
"""

from __future__ import annotations

import difflib
import json
import re
import typing
from collections.abc import Hashable, Iterable
from typing import Any, NoReturn, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from segtrial.contracts.record import ID_PATTERN, Record
from segtrial.errors import InputError

MAX_YAML_BYTES = 256 * 1024
_MAX_PROBLEMS = 12
_MAX_DEPTH = 24
_SHOWN = 80
R = TypeVar("R", bound=Record)


def parse_yaml(
    text: str | bytes, record: type[R], *, source: str, error: type[InputError] = InputError
) -> R:
    """Read one record from YAML.

    Parameters
    ----------
    text : str or bytes
        At most 256 KiB of UTF-8.
    record : type
        The record it has to be.
    source : str
        What to call it in an error, usually the file's path.
    error : type
        The error class to raise.

    Raises
    ------
    InputError
        (or ``error``) naming every problem, at most twelve.

    Examples
    --------
    >>> from segtrial.contracts.limits import Limits
    >>> parse_yaml("pids: 64", Limits, source="limits.yaml").pids
    64
    """
    return validate(load_yaml(text, source=source, error=error), record, source=source, error=error)


def load_yaml(text: str | bytes, *, source: str, error: type[InputError] = InputError) -> Any:  # noqa: ANN401 - any YAML value
    """Plain values from YAML text, within the bounds of the module docstring."""
    raw = text.encode() if isinstance(text, str) else text
    if len(raw) > MAX_YAML_BYTES:
        raise error(
            f"{source} is too large: {len(raw)} bytes, at most {MAX_YAML_BYTES} are read. "
            "Move long texts to your documentation and link them."
        )
    try:
        return yaml.load(raw.decode("utf-8"), Loader=_StrictLoader)  # noqa: S506 - a SafeLoader underneath
    except UnicodeDecodeError as problem:
        raise error(
            f"{source} is not UTF-8 text (byte {problem.start}). Save it as UTF-8."
        ) from None
    except yaml.YAMLError as problem:
        raise error(f"{source} is not valid YAML: {_yaml_problem(problem)}") from None
    except (ValueError, RecursionError, OverflowError) as problem:
        raise error(f"{source} holds a value that cannot be read: {problem}") from None


def parse_json(
    text: str | bytes, record: type[R], *, source: str, error: type[InputError] = InputError
) -> R:
    """Read one record from JSON text; see `parse_yaml` for parameters and errors."""
    return validate(load_json(text, source=source, error=error), record, source=source, error=error)


def load_json(text: str | bytes, *, source: str, error: type[InputError] = InputError) -> Any:  # noqa: ANN401 - any JSON value
    """Plain values from JSON text: no duplicate keys, no NaN, no infinity."""
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except UnicodeDecodeError as problem:
        raise error(f"{source} is not UTF-8 text (byte {problem.start}).") from None
    except json.JSONDecodeError as problem:
        raise error(
            f"{source} is not valid JSON: {problem.msg} at line {problem.lineno}, "
            f"column {problem.colno}. "
            "If the file is cut off, fetch or write it again."
        ) from None
    except (ValueError, RecursionError) as problem:
        raise error(f"{source} holds a value that cannot be read: {problem}") from None


def validate(
    value: object, record: type[R], *, source: str, error: type[InputError] = InputError
) -> R:
    """Turn plain values into a record, or raise ``error`` naming every problem."""
    if not isinstance(value, dict):
        kind = "nothing" if value is None else type(value).__name__
        raise error(
            f"{source} must hold keys and values, but it holds {kind}. Start from the template."
        )
    try:
        return record.model_validate(value)
    except ValidationError as problem:
        raise error(explain(problem, record, source=source)) from None


def explain(problem: ValidationError, record: type[Record], *, source: str) -> str:
    """Every problem of a failed validation, one per line, then where to read what is right."""
    found = problem.errors(include_url=False)
    misspelt = {
        (*one["loc"][:-1], _closest(str(one["loc"][-1]), _keys_at(record, one["loc"][:-1])))
        for one in found
        if one["type"] == "extra_forbidden"
    }
    # A misspelt required key is one mistake, not a missing key and an unknown one.
    found = [one for one in found if one["type"] != "missing" or one["loc"] not in misspelt]
    lines = [f"{source}: {_explain_one(one, record)}" for one in found[:_MAX_PROBLEMS]]
    if len(found) > _MAX_PROBLEMS:
        lines.append(f"... and {len(found) - _MAX_PROBLEMS} more.")
    return "\n".join([*lines, record.read_more] if record.read_more else lines)


def nearest(name: str, valid: Iterable[str]) -> str:
    """' Did you mean 'x'?' for the nearest valid name, or the empty string."""
    close = _closest(name, valid)
    return f" Did you mean {close!r}?" if close else ""


def _closest(name: str, valid: Iterable[str]) -> str | None:
    close = difflib.get_close_matches(name, list(valid), n=1, cutoff=0.6)
    return close[0] if close else None


def _explain_one(one: Any, record: type[BaseModel]) -> str:  # noqa: ANN401 - pydantic's ErrorDetails
    location: tuple[int | str, ...] = one["loc"]
    if one["type"] == "extra_forbidden":
        return _unknown_key(location, record)
    where = _where(location)
    if one["type"] == "missing":
        return f"the key {where!r} is missing; add it."
    prefix = "" if where == "the whole file" else f"{where}: "
    if one["type"] == "value_error":  # ours: the message holds the value and what to do
        return prefix + str(one["msg"]).removeprefix("Value error, ") + "."
    if one["type"] == "string_pattern_mismatch" and one["ctx"]["pattern"] == ID_PATTERN:
        expected = "an id has only lower-case letters, digits, - and _, at most 63 of them"
    else:
        expected = re.sub(r"^[A-Z][a-z]* should ", "it should ", str(one["msg"]))
    got = repr(one.get("input"))
    return f"{prefix}{expected}, got {got if len(got) <= _SHOWN else got[: _SHOWN - 3] + '...'}."


def _unknown_key(location: tuple[int | str, ...], record: type[BaseModel]) -> str:
    valid = _keys_at(record, location[:-1])
    key = str(location[-1])[:_SHOWN]
    place = f" in {_where(location[:-1])}" if len(location) > 1 else ""
    hint = nearest(key, valid) or f" Valid keys there: {', '.join(valid)}."
    return f"unknown key {key!r}{place}.{hint}"


def _where(location: tuple[int | str, ...]) -> str:
    """``labels.0.[key]`` is pydantic's way to say: the key 0 in labels."""
    if location and location[-1] == "[key]":
        return f"the key {str(location[-2])[:_SHOWN]} in {_where(location[:-2])}"
    return ".".join(str(part)[:_SHOWN] for part in location) or "the whole file"


def _keys_at(record: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """Valid keys of the record that a location inside ``record`` leads to."""
    model: type[BaseModel] = record
    for part in location:
        field = model.model_fields.get(part) if isinstance(part, str) else None
        if field is None:
            continue
        inner = _models_in(field.annotation)
        if not inner:
            return []
        model = inner[0]
    return [field.alias or name for name, field in model.model_fields.items()]


def _models_in(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in typing.get_args(annotation) for model in _models_in(part)]


class _StrictLoader(yaml.SafeLoader):
    """SafeLoader without aliases, duplicate keys, dates or deep nesting."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:  # noqa: ANN401 - yaml's own untyped hook
        if self.check_event(yaml.events.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.constructor.ConstructorError(
                None,
                None,
                "aliases (*name) are not accepted; write the value out",
                event.start_mark,
            )
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.constructor.ConstructorError(
                None, None, f"nested deeper than {_MAX_DEPTH} levels", event.start_mark
            )
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:  # noqa: ANN401, FBT001, FBT002 - yaml's signature
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                raise yaml.constructor.ConstructorError(
                    None, None, "a key must be a plain word or number", key_node.start_mark
                )
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None,
                    None,
                    f"the key {str(key)[:80]!r} is written twice; keep one",
                    key_node.start_mark,
                )
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


# A version such as 2024-05-01 stays the text that was written.
_StrictLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _yaml_problem(problem: yaml.YAMLError) -> str:
    if isinstance(problem, yaml.MarkedYAMLError) and problem.problem_mark is not None:
        mark = problem.problem_mark
        return f"line {mark.line + 1}, column {mark.column + 1}: {problem.problem}"
    return str(problem)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice[:80]!r} is written twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number; states are written as words")
