import { expect, test } from "vitest";

import { enrolmentViewSchema } from "../../../../src/api/enrolments.ts";
import { enrolmentDifferences } from "../../../../src/api/words/enrolments.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;

const enrolment = enrolmentViewSchema.parse({
  approval_id: "enr_1",
  user_code: "ABCD-EFGH",
  requested_name: "arm",
  region: "eu",
  site: null,
  labels: { line: "a", cell: "4" },
  robot_type_id: null,
  configuration_digest: DIGEST,
  address: "127.0.0.1",
  key_fingerprint: "SHA256:x",
  created_at: "2026-11-27T00:00:00Z",
  expires_at: "2026-11-27T00:10:00Z",
  robot: {
    id: "rob_1",
    name: "arm",
    robot_type_id: "acme.arm.v1",
    region: "eu",
    created_at: "2026-11-01T00:00:00Z",
    labels: { cell: "4", line: "a" },
  },
});
const robot = enrolment.robot!;

test("enrolmentDifferences: the same labels in another order → none", () => {
  expect(enrolmentDifferences(enrolment, robot, "eu", DIGEST)).toEqual([]);
});

test("enrolmentDifferences: another label → both lists in one order", () => {
  const other = { ...enrolment, labels: { line: "b", cell: "4" } };
  expect(enrolmentDifferences(other, robot, "eu", DIGEST)).toEqual([["labels", "cell=4 line=a", "cell=4 line=b"]]);
});
