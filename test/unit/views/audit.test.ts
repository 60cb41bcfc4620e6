import { expect, test } from "vitest";

import type { AuditEntryView } from "../../../src/api/audit.ts";
import { AUDIT, auditItem, isSignIn } from "../../../src/views/audit.ts";
import { csvLines } from "../../../src/views/view.ts";

const entryOf = (more: Partial<AuditEntryView>): AuditEntryView => ({
  id: "aud_1",
  at: "2026-01-01T00:00:00Z",
  action: "deployment.create",
  subject_id: "dep_1",
  subject_name: null,
  subject_model: null,
  actor: { id: "key_1", label: "line 4" },
  request_id: null,
  details: {},
  ...more,
});

const columns = AUDIT.columns.filter(({ name }) => name === "what" || name === "details");

test.each<[Partial<AuditEntryView>, string]>([
  [{ action: "fleet.create", subject_name: "packing" }, "line 4 created the fleet packing,"],
  [{ subject_model: "pi0.5", subject_name: "arm-3" }, "line 4 deployed pi0.5 on arm-3,"],
  [{ subject_model: "pi0.5" }, "line 4 deployed pi0.5 on a robot,"],
  [{ action: "webhook.create", details: { host: "hooks.example" } }, "line 4 created the webhook to hooks.example,"],
  [{ action: "enrolment.deny", details: { requested_name: "arm" } }, "line 4 denied the enrolment of arm,"],
  [{ action: "session.create" }, "line 4 signed in,"],
  [
    { action: "models.apply", actor: { id: "command", label: null } },
    `"the service's computer changed the model catalog",`,
  ],
  [{ action: "later.action", subject_name: "it", actor: { id: "key_2", label: null } }, "key_2 later.action it,"],
  [
    {
      action: "robot.enroll",
      subject_name: "arm-3",
      details: {
        scopes: ["s", "t"],
        windows: [1],
        site: null,
        robot_id: "rob_1",
        full: false,
        name: "arm-3",
        address: "::1",
      },
    },
    `line 4 enrolled the robot arm-3,"scopes=[s,t] windows=[1] full=false"`,
  ],
])("a sentence with actor, action and subject, and the other details: %j → %j", (entry, line) => {
  expect(csvLines(columns, [auditItem(entryOf(entry))])[1]).toBe(line);
});

test("isSignIn: what changes nothing; a denied login is shown", () => {
  const actions = ["session.create", "session.end", "login.approve", "login.deny", "api_key.create"];
  expect(actions.filter((action) => isSignIn({ action }))).toEqual(actions.slice(0, 3));
});
