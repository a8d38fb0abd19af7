"""How a worker speaks to its queues and to the function `settle`.

What is not accepted is sent again, as it was, until patience ends; then the
dispatch is left in its queue.
"""

from __future__ import annotations

import json
import logging
import os
import random
import time
from collections.abc import Iterator
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

import wire

PATIENCE_S = 120.0
WAIT_S = int(os.environ.get("EVERLOG_WAIT_S", "20"))  # of a receive, and so of an idle worker's end
UNSENT = (BotoCoreError, ClientError)
log = logging.getLogger("voice")


class Unanswered(Exception):
    """Nobody knows whether it arrived: the dispatch comes again."""


class Voice:
    def __init__(self, worker: str) -> None:
        self.worker = worker
        self.task_queue = os.environ["EVERLOG_TASK_QUEUE_URL"]
        self.settle_queue = os.environ["EVERLOG_SETTLE_QUEUE_URL"]
        self.settle_function = os.environ.get("EVERLOG_SETTLE_FUNCTION")
        self.sqs = boto3.client("sqs", config=Config(retries={"mode": "standard"}))
        # Longer than the function's own time-out; `hear` makes the repeats.
        once = Config(read_timeout=35, retries={"total_max_attempts": 1})
        self.functions = boto3.client("lambda", config=once)

    def receive(self, hidden_s: int) -> list[dict[str, Any]]:
        """At most one message, waited for up to `WAIT_S`."""
        answer = self.sqs.receive_message(QueueUrl=self.task_queue, WaitTimeSeconds=WAIT_S, VisibilityTimeout=hidden_s)
        return list(answer.get("Messages", []))

    def hide(self, handle: str, seconds: int) -> None:
        self.sqs.change_message_visibility(QueueUrl=self.task_queue, ReceiptHandle=handle, VisibilityTimeout=seconds)

    def delete(self, handle: str) -> None:
        self.sqs.delete_message(QueueUrl=self.task_queue, ReceiptHandle=handle)

    def hear(self, dispatch: wire.Dispatch, verb: str, patience_s: float = PATIENCE_S) -> str:
        """Sends a sign of life by direct invocation and hears: proceed, cancel or stop."""
        payload = json.dumps(wire.command(dispatch, self.worker, verb))
        for _ in tries(patience_s):
            try:
                answer = self.functions.invoke(FunctionName=self.settle_function, Payload=payload)
                said = json.loads(answer["Payload"].read())
            except UNSENT as error:
                log.warning("no answer to a %s: %s", verb, error)
                continue
            if "FunctionError" in answer:
                log.warning("no answer to a %s: %s", verb, said)
            elif not said.get("retryable"):
                return "stop" if said["outcome"] == "rejected" else said["directive"]
        raise Unanswered(f"no answer to a {verb} in {patience_s:g} s")

    def settle(self, dispatch: wire.Dispatch, outcome: wire.Outcome) -> None:
        """Returns once the settle queue has accepted the outcome."""
        command = wire.command(dispatch, self.worker, "settle", outcome=outcome)
        message: dict[str, Any] = {
            "QueueUrl": self.settle_queue,
            "MessageBody": json.dumps(command),
            "MessageGroupId": wire.group_id(dispatch["namespace"], dispatch["workflow"]),
            "MessageDeduplicationId": command["id"],
        }
        for _ in tries(PATIENCE_S):
            try:
                self.sqs.send_message(**message)
                return
            except UNSENT as error:
                log.warning("not settled yet: %s", error)
        raise Unanswered("the settle queue does not accept the outcome")


def tries(patience_s: float) -> Iterator[None]:
    """At least one try; waits between tries are random, up to 2 seconds at last."""
    end, longest_s = time.monotonic() + patience_s, 0.05
    while True:
        yield
        wait_s = random.uniform(0, longest_s)
        if time.monotonic() + wait_s >= end:
            return
        time.sleep(wait_s)
        longest_s = min(2 * longest_s, 2.0)
