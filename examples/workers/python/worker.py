"""A resident worker: takes dispatches from SQS, runs them, says how they ended.

A dispatch is deleted only after its outcome is in the settle queue. One task
runs at a time: start more processes for more. If this one dies, SQS brings the
dispatch again; a task that had a receipt is ended by its time-outs instead.
"""

from __future__ import annotations

import logging
import os
import random
import signal
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from jsonschema import ValidationError

import wire
from tasks import HANDLERS, Failed, Stopped
from voice import UNSENT, Unanswered, Voice

HIDDEN_S = 60  # a dispatch at work is hidden this long, and again each beat
BEAT_S = 20.0
GRACE_S = float(os.environ.get("EVERLOG_GRACE_S", "20"))  # what a task may take after SIGTERM
REMEMBERED_MAX = 1_000
log = logging.getLogger("worker")


class NoOutcome(Exception):
    """The task ends without a word: it is over, or another worker's, or given back."""

    def __init__(self, why: str, give_back: bool = False) -> None:
        super().__init__(why)
        self.give_back = give_back


class Underway:
    """One task at work; `stop` says why it must not go on: cancel, stop or ending."""

    def __init__(self, dispatch: wire.Dispatch) -> None:
        self.input, self.outputs = dispatch.get("input"), dispatch.get("outputs", {})
        self.attempt, self.idempotency_key = dispatch["attempt"], dispatch["dispatch_key"]
        self.has_receipt, self.stop = False, ""

    def checkpoint(self) -> None:
        if self.stop:
            raise Stopped(self.stop)


class Worker:
    def __init__(self) -> None:
        self.voice = Voice(f"python-{uuid.uuid4()}")
        self.said: OrderedDict[str, wire.Outcome] = OrderedDict()
        self.ending = False
        self.underway: Underway | None = None

    def run(self) -> None:
        while not self.ending:
            try:
                for message in self.voice.receive(HIDDEN_S):
                    if self.ending:  # a receive is never given up: it may bring a dispatch
                        self.voice.hide(message["ReceiptHandle"], 0)
                    else:
                        self.take(message["Body"], message["ReceiptHandle"])
            except (ValueError, ValidationError) as error:
                log.error("left to the redrive policy of its queue: %s", error)
            except (Unanswered, *UNSENT) as error:
                log.warning("it comes again: %s", error)
                time.sleep(random.uniform(0, 1))

    def end(self, *_: object) -> None:
        """On SIGTERM: the receive at hand ends, and the task; it is stopped once its grace is over."""
        self.ending = True
        timer = threading.Timer(GRACE_S, self.stop)
        timer.daemon = True
        timer.start()

    def stop(self) -> None:
        if self.underway:
            self.underway.stop = "ending"

    def take(self, body: str, handle: str) -> None:
        dispatch = wire.read(body)
        key, task = dispatch["dispatch_key"], Underway(dispatch)
        self.underway = task
        with self.kept_alive(dispatch, handle, task):
            try:
                # A redelivery hears what was said the first time.
                outcome = self.said.get(key) or self.perform(dispatch, task)
            except NoOutcome as none:
                log.info("%s: %s", dispatch["node"], none)
                if none.give_back:
                    self.voice.hide(handle, 0)
                    return
            else:
                self.said[key] = outcome
                if len(self.said) > REMEMBERED_MAX:
                    self.said.popitem(last=False)
                self.voice.settle(dispatch, outcome)
                log.info("%s attempt %d: %s", dispatch["node"], task.attempt, *outcome)
            self.voice.delete(handle)

    def perform(self, dispatch: wire.Dispatch, task: Underway) -> wire.Outcome:
        handler = HANDLERS.get(dispatch["type"])
        if dispatch.get("cancelled"):
            return wire.cancelled()
        if handler is None:
            return wire.failed("unknown-type", f"this worker has no task type {dispatch['type']}")
        if dispatch.get("claim"):
            return wire.failed("not-carried", "this worker does not read the log")
        if handler.long or any(limit is not None for limit in dispatch["timeouts"].values()):
            if not self.voice.settle_function:
                return wire.failed("no-receipt", "the task needs a receipt: set EVERLOG_SETTLE_FUNCTION")
            directive = self.voice.hear(dispatch, "receipt")
            if directive == "cancel":
                return wire.cancelled()
            if directive != "proceed":
                raise NoOutcome("the attempt is over, or another worker's")
            task.has_receipt = True
        try:
            return wire.succeeded(handler.run(task))
        except Failed as error:
            return wire.failed(error.kind, str(error), error.details)
        except Stopped:
            if task.stop == "cancel":
                return wire.cancelled()
            if task.stop == "stop":
                raise NoOutcome("the attempt is over") from None
            if task.has_receipt:  # nobody else may take it up
                return wire.failed("out-of-time", "the worker was told to end")
            raise NoOutcome("given back", give_back=True) from None
        except Exception as error:  # a fault of the task is its failure, not the worker's
            log.exception("%s", dispatch["node"])
            return wire.failed("unexpected", f"{type(error).__name__}: {error}")

    @contextmanager
    def kept_alive(self, dispatch: wire.Dispatch, handle: str, task: Underway) -> Iterator[None]:
        """Keeps the dispatch hidden, sends heartbeats, and hears whether to stop."""
        over = threading.Event()
        heartbeat_ms = dispatch["timeouts"]["heartbeat_ms"]
        every_s = min(BEAT_S, heartbeat_ms / 3_000) if heartbeat_ms else BEAT_S

        def beat() -> None:
            while not over.wait(every_s):
                try:
                    self.voice.hide(handle, HIDDEN_S)
                    if task.has_receipt:
                        word = self.voice.hear(dispatch, "heartbeat", every_s)
                        task.stop = task.stop if word == "proceed" else word
                except (Unanswered, *UNSENT) as error:
                    log.warning("a sign of life is lost: %s", error)

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    worker = Worker()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, worker.end)
    worker.run()
