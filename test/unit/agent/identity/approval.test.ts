import { expect, test } from "vitest";

import { asApproved, givenByApproval, nameWithoutCredential } from "../../../../src/agent/identity/approval.ts";

const BODY = { name: "arm-7", robot_type_id: "so101", region: "eu-central-1", configuration_digest: "sha256:0" };
const GIVEN = { site: "plant-1", labels: { line: "4", shift: "day" } };

test.each([
  ["nothing configured → all of it", {}, GIVEN, GIVEN],
  [
    "a site and a label configured → they count",
    { site: "lab", labels: { line: "7" } },
    GIVEN,
    { site: "lab", labels: { line: "7", shift: "day" } },
  ],
  ["another region → that one", {}, { region: "us-west-2" }, { region: "us-west-2" }],
  ["nothing given → what is configured", { site: "lab" }, {}, { site: "lab", region: "eu-central-1" }],
])("approval: %s", (_what, configured, approved, kept) => {
  const body = { ...BODY, ...configured };
  const said = { ...body, requested_name: body.name };
  const given = givenByApproval({ region: body.region, ...configured, ...approved }, said);
  expect(asApproved(body, given)).toMatchObject(kept);
});

test("approval: the configuration is edited later → the edit counts, and without it what was given", () => {
  const given = givenByApproval({ region: "us-west-2", ...GIVEN }, { ...BODY, requested_name: "arm-7" });
  expect(asApproved({ ...BODY, region: "eu-west-1", site: "lab" }, given)).toMatchObject({
    region: "eu-west-1",
    site: "lab",
  });
});

test.each([
  [null, "arm-7", "arm-7"],
  [{ robot_name: "picker-2", configured_name: "arm-7" }, "arm-7", "picker-2"],
  [{ robot_name: "picker-2", configured_name: "arm-7" }, "arm-8", "arm-8"],
  [{ robot_name: "picker-2" }, "arm-8", "picker-2"],
])("name of a computer that was %j, configured as %s → %s", (before, configured, name) => {
  expect(nameWithoutCredential(before, configured)).toBe(name);
});
