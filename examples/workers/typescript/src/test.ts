/** What this worker derives, against what Everlog derives. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { groupId } from "./wire.js";

interface Vector {
  readonly namespace: string;
  readonly workflow: string;
  readonly group: string;
}

test("groups are those of Everlog", () => {
  const file = new URL("../../group-ids.json", import.meta.url);
  const vectors: Vector[] = JSON.parse(readFileSync(file, "utf8"));
  assert.ok(vectors.length >= 4);
  for (const { namespace, workflow, group } of vectors) assert.equal(groupId(namespace, workflow), group);
});
