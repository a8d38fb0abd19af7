"""The wire format, by its published schemas: what is read, and what is written."""

from __future__ import annotations

import hashlib
import json
import uuid
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

SCHEMAS = Path(__file__).resolve().parents[3] / "docs" / "schemas"
OUTPUT_BYTES_MAX = 262_144

Dispatch = dict[str, Any]
Command = dict[str, Any]
Outcome = dict[str, Any]


def _validator(message: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads((SCHEMAS / f"{message}.json").read_text()))


DISPATCH, COMMAND = _validator("dispatch"), _validator("command")


def read(body: str) -> Dispatch:
    """The dispatch in a message; raises `ValueError` or `ValidationError`."""
    dispatch: Dispatch = json.loads(body)
    DISPATCH.validate(dispatch)
    return dispatch


def command(dispatch: Dispatch, worker: str, verb: str, **content: Any) -> Command:
    """A command about the attempt of a dispatch, with an id of its own, which its repeats keep."""
    attempt = {name: dispatch[name] for name in ("node", "activation", "attempt", "dispatch_key")}
    place = {name: dispatch[name] for name in ("namespace", "workflow", "incarnation")}
    verbs = {verb: {"attempt": attempt, "worker": worker, **content}}
    made = {"id": f"{dispatch['dispatch_key']}-{verb}-{uuid.uuid4()}", **place, "command": verbs}
    COMMAND.validate(made)
    return made


def group_id(namespace: str, workflow: str) -> str:
    """The FIFO group of a workflow: its name, or a hash where that is too long for SQS."""
    name = f"{namespace}#{workflow}".encode()
    if len(name) <= 128:
        return name.decode()
    return hashlib.sha256(len(name).to_bytes(8, "big") + name).hexdigest()[:32]


def succeeded(output: Any) -> Outcome:
    """What the schema can't say is said here: an output has a bound in bytes."""
    text = json.dumps(output, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    size = len(text.encode())
    if size > OUTPUT_BYTES_MAX:
        return failed("bad-output", f"expected at most {OUTPUT_BYTES_MAX} bytes, found {size}")
    return {"succeeded": {"output": output}}


def failed(kind: str, message: str, details: Any = None) -> Outcome:
    return {"failed": {"kind": kind, "message": message, "details": details}}


def cancelled() -> Outcome:
    return {"cancelled": {}}
