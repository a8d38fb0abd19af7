/**
 * How a worker speaks to its queues and to the function `settle`.
 *
 * What is not accepted is sent again, as it was, until patience ends; then the
 * dispatch is left in its queue.
 */

import { setTimeout as sleep } from "node:timers/promises";

import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";

import * as wire from "./wire.js";

const PATIENCE_MS = 120_000;
/** Of a receive, and so of an idle worker's end. */
const WAIT_S = Number(process.env["EVERLOG_WAIT_S"] ?? 20);

/** Nobody knows whether it arrived: the dispatch comes again. */
export class Unanswered extends Error {}

function required(name: string): string {
  const value = process.env[name];
  if (value) return value;
  throw new Error(`${name} is not set`);
}

export class Voice {
  readonly settleFunction = process.env["EVERLOG_SETTLE_FUNCTION"];
  readonly #taskQueue = required("EVERLOG_TASK_QUEUE_URL");
  readonly #settleQueue = required("EVERLOG_SETTLE_QUEUE_URL");
  readonly #sqs = new SQSClient({});
  // Longer than the function's own time-out; `hear` makes the repeats.
  readonly #functions = new LambdaClient({ maxAttempts: 1, requestHandler: { requestTimeout: 35_000 } });

  constructor(readonly worker: string) {}

  /** At most one message, waited for up to `WAIT_S`. */
  async receive(hiddenS: number): Promise<Message[]> {
    const receive = new ReceiveMessageCommand({
      QueueUrl: this.#taskQueue,
      WaitTimeSeconds: WAIT_S,
      VisibilityTimeout: hiddenS,
    });
    return (await this.#sqs.send(receive)).Messages ?? [];
  }

  async hide(ReceiptHandle: string, VisibilityTimeout: number): Promise<void> {
    const QueueUrl = this.#taskQueue;
    await this.#sqs.send(new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout }));
  }

  async delete(ReceiptHandle: string): Promise<void> {
    await this.#sqs.send(new DeleteMessageCommand({ QueueUrl: this.#taskQueue, ReceiptHandle }));
  }

  /** Sends a sign of life by direct invocation and hears what to do. */
  async hear(
    dispatch: wire.Dispatch,
    verb: "receipt" | "heartbeat",
    patienceMs = PATIENCE_MS,
  ): Promise<"proceed" | "cancel" | "stop"> {
    const Payload = JSON.stringify(wire.command(dispatch, this.worker, verb));
    const invoke = new InvokeCommand({ FunctionName: this.settleFunction, Payload });
    return await retried(patienceMs, `no answer to a ${verb}`, async () => {
      const { FunctionError, Payload: said } = await this.#functions.send(invoke);
      const text = Buffer.from(said ?? []).toString();
      if (FunctionError) throw new Unanswered(text);
      const answer = wire.readAnswer(text);
      if (answer["retryable"]) throw new Unanswered(text);
      return answer.outcome === "rejected" ? "stop" : (answer.directive ?? "stop");
    });
  }

  /** Resolves once the settle queue has accepted the outcome. */
  async settle(dispatch: wire.Dispatch, outcome: wire.Outcome): Promise<void> {
    const command = wire.command(dispatch, this.worker, "settle", { outcome });
    const send = new SendMessageCommand({
      QueueUrl: this.#settleQueue,
      MessageBody: JSON.stringify(command),
      MessageGroupId: wire.groupId(dispatch.namespace, dispatch.workflow),
      MessageDeduplicationId: command.id,
    });
    await retried(PATIENCE_MS, "the outcome is not accepted", () => this.#sqs.send(send));
  }
}

/** Tries at least once; waits between tries are random, up to 2 seconds at last. */
async function retried<T>(patienceMs: number, what: string, once: () => Promise<T>): Promise<T> {
  const end = Date.now() + patienceMs;
  for (let longestMs = 50; ; longestMs = Math.min(2 * longestMs, 2_000)) {
    try {
      return await once();
    } catch (error) {
      const waitMs = Math.random() * longestMs;
      console.warn(`${what}: ${error}`);
      if (Date.now() + waitMs >= end) throw new Unanswered(`${what} in ${patienceMs} ms`);
      await sleep(waitMs);
    }
  }
}
