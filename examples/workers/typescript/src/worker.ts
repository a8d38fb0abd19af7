/**
 * A resident worker: takes dispatches from SQS, runs them, says how they ended.
 *
 * A dispatch is deleted only after its outcome is in the settle queue. As many
 * tasks run at once as `EVERLOG_CONCURRENCY` says. If the worker dies, SQS brings
 * the dispatch again; a task that had a receipt is ended by its time-outs instead.
 */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { Failed, HANDLERS } from "./tasks.js";
import { Voice } from "./voice.js";
import * as wire from "./wire.js";

/** A dispatch at work is hidden this long, and again each beat. */
const HIDDEN_S = 60;
const BEAT_MS = 20_000;
/** What a task may take after SIGTERM. */
const GRACE_MS = 1_000 * Number(process.env["EVERLOG_GRACE_S"] ?? 20);
const CONCURRENCY = Number(process.env["EVERLOG_CONCURRENCY"] ?? 4);
const REMEMBERED_MAX = 1_000;

type Why = "cancel" | "stop" | "ending";
/** What becomes of a dispatch that ends without an outcome. */
type Silence = "drop" | "give back";

/** One task at work; `stop` says why it must not go on. */
class Underway {
  hasReceipt = false;
  why: Why | undefined;
  readonly #abort = new AbortController();
  readonly signal = this.#abort.signal;

  stop(why: Why): void {
    this.why ??= why;
    this.#abort.abort();
  }
}

const voice = new Voice(`typescript-${randomUUID()}`);
let ending = false;
const underway = new Set<Underway>();
/** Outcomes by dispatch key: a redelivery repeats what was said. */
const said = new Map<string, wire.Outcome>();

async function perform(dispatch: wire.Dispatch, task: Underway): Promise<wire.Outcome | Silence> {
  const handler = HANDLERS.get(dispatch.type);
  if (dispatch.cancelled) return { cancelled: {} };
  if (!handler) return wire.failed("unknown-type", `this worker has no task type ${dispatch.type}`);
  if (dispatch.claim) return wire.failed("not-carried", "this worker does not read the log");
  if (handler.long || Object.values(dispatch.timeouts).some((limit) => limit !== null)) {
    if (!voice.settleFunction) {
      return wire.failed("no-receipt", "the task needs a receipt: set EVERLOG_SETTLE_FUNCTION");
    }
    const directive = await voice.hear(dispatch, "receipt");
    if (directive === "cancel") return { cancelled: {} };
    if (directive === "stop") return "drop";
    task.hasReceipt = true;
  }
  const { input = null, outputs = {}, attempt, dispatch_key: idempotencyKey } = dispatch;
  try {
    return wire.succeeded(await handler.run({ input, outputs, attempt, idempotencyKey, signal: task.signal }));
  } catch (error) {
    if (error instanceof Failed) return wire.failed(error.kind, error.message, error.details);
    if (!(error instanceof Error && error.name === "AbortError" && task.why)) {
      console.error(dispatch.node, error);
      return wire.failed("unexpected", String(error));
    }
  }
  if (task.why === "cancel") return { cancelled: {} };
  if (task.why === "stop") return "drop";
  // Nobody else may take up an attempt that has a receipt.
  return task.hasReceipt ? wire.failed("out-of-time", "the worker was told to end") : "give back";
}

/** Until `over`: keeps the dispatch hidden, sends heartbeats, and hears whether to stop. */
async function keepAlive(dispatch: wire.Dispatch, handle: string, task: Underway, over: AbortSignal): Promise<void> {
  const heartbeatMs = dispatch.timeouts.heartbeat_ms;
  const everyMs = heartbeatMs ? Math.min(BEAT_MS, heartbeatMs / 3) : BEAT_MS;
  while (await sleep(everyMs, true, { signal: over }).catch(() => false)) {
    try {
      await voice.hide(handle, HIDDEN_S);
      if (!task.hasReceipt) continue;
      const directive = await voice.hear(dispatch, "heartbeat", everyMs);
      if (directive !== "proceed") task.stop(directive);
    } catch (error) {
      console.warn(`a sign of life is lost: ${error}`);
    }
  }
}

async function take(body: string, handle: string): Promise<void> {
  const dispatch = wire.readDispatch(body);
  const [task, over] = [new Underway(), new AbortController()];
  underway.add(task);
  const alive = keepAlive(dispatch, handle, task, over.signal);
  try {
    const outcome = said.get(dispatch.dispatch_key) ?? (await perform(dispatch, task));
    console.info(dispatch.node, dispatch.attempt, typeof outcome === "string" ? outcome : Object.keys(outcome)[0]);
    if (outcome === "give back") return await voice.hide(handle, 0);
    if (outcome !== "drop") {
      said.set(dispatch.dispatch_key, outcome);
      for (const oldest of said.keys()) {
        if (said.size <= REMEMBERED_MAX) break;
        said.delete(oldest);
      }
      await voice.settle(dispatch, outcome);
    }
    await voice.delete(handle);
  } finally {
    over.abort();
    await alive;
    underway.delete(task);
  }
}

async function work(): Promise<void> {
  while (!ending) {
    try {
      for (const { Body = "", ReceiptHandle = "" } of await voice.receive(HIDDEN_S)) {
        // A receive is never given up: it may bring a dispatch.
        await (ending ? voice.hide(ReceiptHandle, 0) : take(Body, ReceiptHandle));
      }
    } catch (error) {
      if (error instanceof wire.Invalid) console.error(`left to the redrive policy of its queue: ${error}`);
      else console.warn(`it comes again: ${error}`);
      await sleep(Math.random() * 1_000);
    }
  }
}

/** Receives at hand end, and tasks; these are stopped once their grace is over. */
function end(): void {
  ending = true;
  setTimeout(() => underway.forEach((task) => task.stop("ending")), GRACE_MS).unref();
}

process.once("SIGTERM", end);
process.once("SIGINT", end);
await Promise.all(Array.from({ length: CONCURRENCY }, work));
