"""The work itself: one function a task type, payload in, payload out.

A task ends by returning its output or by raising `Failed`, whose kind a retry
policy may call final. A task that takes long calls `checkpoint` now and then.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol


class Failed(Exception):
    """The work is not done; `kind` is 1 to 256 characters of `[A-Za-z0-9._:/@-]`."""

    def __init__(self, kind: str, message: str, details: Any = None) -> None:
        super().__init__(message)
        if not re.fullmatch(r"[A-Za-z0-9._:/@-]{1,256}", kind):
            raise ValueError(f"{kind!r} is no kind of failure: {message}")
        self.kind, self.details = kind, details


class Stopped(Exception):
    """Raised by `checkpoint`: the worker must not go on with this task."""


class Task(Protocol):
    """What a task knows of itself."""

    input: Any
    outputs: dict[str, Any]
    attempt: int
    idempotency_key: str

    def checkpoint(self) -> None:
        """Raises `Stopped` if the task was cancelled or the worker is to end."""


@dataclass(frozen=True)
class Handler:
    """`long`: it may run longer than 20 seconds, so it begins with a receipt."""

    run: Callable[[Task], Any]
    long: bool = False


def price(task: Task) -> Any:
    """Adds up an order: `{"items": [{"sku", "cents", "count"}]}`."""
    if any(item["count"] < 1 for item in task.input["items"]):
        raise Failed("invalid-order", "each item must be ordered at least once", task.input)
    return {"cents": sum(item["cents"] * item["count"] for item in task.input["items"])}


def charge(task: Task) -> Any:
    """Charges a card by a gateway that is down for the first `outage` attempts."""
    if task.attempt <= task.input.get("outage", 0):
        raise Failed("gateway", "502 from the gateway", {"status": 502})
    # A real gateway takes the idempotency key: charged once, however often this runs.
    receipt = hashlib.sha256(task.idempotency_key.encode()).hexdigest()[:12]
    return {"charge": receipt, "cents": task.outputs["price"]["cents"]}


def render(task: Task) -> Any:
    """Renders `pages`, each in `page_ms` milliseconds."""
    for _ in range(task.input["pages"]):
        task.checkpoint()
        time.sleep(task.input["page_ms"] / 1000)
    return {"pages": task.input["pages"]}


HANDLERS = {
    "price": Handler(price),
    "charge": Handler(charge),
    "render": Handler(render, long=True),
}
