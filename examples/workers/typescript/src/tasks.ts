/**
 * The work itself: one function a task type, payload in, payload out.
 *
 * A task ends by returning its output or by throwing `Failed`, whose kind a
 * retry policy may call final. A task that takes long looks at `signal`.
 */

import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

export interface Task {
  readonly input: any;
  readonly outputs: Record<string, any>;
  readonly attempt: number;
  /** For the world: the same attempt may be performed more than once. */
  readonly idempotencyKey: string;
  /** Aborted if the task was cancelled or the worker is to end; then throw its reason. */
  readonly signal: AbortSignal;
}

export class Failed extends Error {
  constructor(
    readonly kind: string,
    message: string,
    readonly details: unknown = null,
  ) {
    super(message);
    if (!/^[A-Za-z0-9._:/@-]{1,256}$/.test(kind)) {
      throw new RangeError(`${kind} is no kind of failure: ${message}`);
    }
  }
}

export interface Handler {
  run(task: Task): Promise<unknown>;
  /** It may run longer than 20 seconds, so it begins with a receipt. */
  readonly long?: boolean;
}

interface Item {
  readonly cents: number;
  readonly count: number;
}

/** Adds up an order: `{"items": [{"sku", "cents", "count"}]}`. */
async function price({ input }: Task): Promise<unknown> {
  const items: Item[] = input.items;
  if (items.some((item) => item.count < 1)) {
    throw new Failed("invalid-order", "each item must be ordered at least once", input);
  }
  return { cents: items.reduce((sum, item) => sum + item.cents * item.count, 0) };
}

/** Charges a card by a gateway that is down for the first `outage` attempts. */
async function charge(task: Task): Promise<unknown> {
  if (task.attempt <= (task.input?.outage ?? 0)) {
    throw new Failed("gateway", "502 from the gateway", { status: 502 });
  }
  // A real gateway takes the idempotency key: charged once, however often this runs.
  const receipt = createHash("sha256").update(task.idempotencyKey).digest("hex").slice(0, 12);
  return { charge: receipt, cents: task.outputs["price"].cents };
}

/** Renders `pages`, each in `page_ms` milliseconds. */
async function render({ input, signal }: Task): Promise<unknown> {
  for (let page = 0; page < input.pages; page += 1) {
    await sleep(input.page_ms, undefined, { signal });
  }
  return { pages: input.pages };
}

export const HANDLERS = new Map<string, Handler>([
  ["price", { run: price }],
  ["charge", { run: charge }],
  ["render", { run: render, long: true }],
]);
