/** The wire format, by its published schemas: what is read, and what is written. */

import { createHash, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";

import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

import type { Answer } from "./schemas/answer.js";
import type { AttemptId, Command, Payload, Settle } from "./schemas/command.js";
import type { Dispatch } from "./schemas/dispatch.js";

export type { Answer, Command, Dispatch };
export type Outcome = Settle["outcome"];

const SCHEMAS = new URL("../../../../docs/schemas/", import.meta.url);
const OUTPUT_BYTES_MAX = 262_144;
// Formats such as `uint64` only name what `minimum` says.
const ajv = new Ajv2020({ strict: false, validateFormats: false });

function validator<T>(message: string): ValidateFunction<T> {
  return ajv.compile<T>(JSON.parse(readFileSync(new URL(`${message}.json`, SCHEMAS), "utf8")));
}

const dispatches = validator<Dispatch>("dispatch");
const commands = validator<Command>("command");
const answers = validator<Answer>("answer");

export class Invalid extends Error {}

function checked<T>(validate: ValidateFunction<T>, value: unknown): T {
  if (validate(value)) return value;
  throw new Invalid(ajv.errorsText(validate.errors));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Invalid(String(error));
  }
}

export const readDispatch = (text: string): Dispatch => checked(dispatches, parsed(text));
export const readAnswer = (text: string): Answer => checked(answers, parsed(text));

type Verb = "receipt" | "heartbeat" | "settle";

/** A command about the attempt of a dispatch, with an id of its own, which its repeats keep. */
export function command(
  dispatch: Dispatch,
  worker: string,
  verb: Verb,
  content: { outcome?: Outcome } = {},
): Command {
  const { namespace, workflow, incarnation, node, activation, attempt, dispatch_key } = dispatch;
  const of: AttemptId = { node, activation, attempt, dispatch_key };
  return checked(commands, {
    id: `${dispatch_key}-${verb}-${randomUUID()}`,
    namespace,
    workflow,
    incarnation,
    command: { [verb]: { attempt: of, worker, ...content } },
  });
}

/** The FIFO group of a workflow: its name, or a hash where that is too long for SQS. */
export function groupId(namespace: string, workflow: string): string {
  const name = Buffer.from(`${namespace}#${workflow}`);
  if (name.length <= 128) return name.toString();
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(BigInt(name.length));
  return createHash("sha256").update(length).update(name).digest("hex").slice(0, 32);
}

/** What the schema can't say is said here: an output has a bound in bytes. */
export function succeeded(output: unknown): Outcome {
  const bytes = Buffer.byteLength(JSON.stringify(output ?? null));
  if (bytes > OUTPUT_BYTES_MAX) {
    return failed("bad-output", `expected at most ${OUTPUT_BYTES_MAX} bytes, found ${bytes}`);
  }
  return { succeeded: { output: payload(output) } };
}

export function failed(kind: string, message: string, details: unknown = null): Outcome {
  return { failed: { kind, message, details: payload(details) } };
}

/** A payload is any JSON value; the generated type says "object". */
const payload = (value: unknown): Payload | null => (value ?? null) as Payload | null;
