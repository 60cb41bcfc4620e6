import { expect, test } from "vitest";

import { isRegistrationRecord } from "../../../../src/agent/registration/record.ts";

/** With every optional member. */
const RECORD = {
  service_url: "https://policy.example",
  machine: "ab".repeat(32),
  request: {
    name: "arm-7",
    robot_type_id: "yam.bimanual-joint-position.v1",
    region: "eu",
    configuration_digest: `sha256:${"c".repeat(64)}`,
    site: "hall-2",
    labels: { line: "a" },
    contract: { schema: "robot-contract/v1" },
  },
  in_doubt: false,
  files: [
    {
      label: "left",
      path: "/etc/arm.yaml",
      sha256: "d".repeat(64),
      bytes: 12,
      trusted: true,
      suspect: false,
      stat: {
        kind: "file",
        device: "1",
        inode: "2",
        size_bytes: 12,
        mtime_ns: "-1",
        ctime_ns: "3",
        mode: 0o644,
        user_id: 0,
        group_id: 0,
      },
    },
  ],
  robot: {
    id: "rob_1",
    name: "arm-7",
    robot_type_id: "t",
    region: "eu",
    created_at: "2026-01-01T00:00:00Z",
    site: "hall-2",
    labels: { line: "a" },
  },
  registered_at: "2026-01-01T00:00:01Z",
};

/** An earlier agent did not save these texts. */
const OPTIONAL = new Set(["request.site", "request.labels", "request.contract", "robot.site"]);
const NULLABLE = new Set([...OPTIONAL, "machine"]);

/** Paths of all members, such as `files.0.stat.mode`. */
function membersOf(value: unknown, prefix = ""): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    [`${prefix}${name}`].concat(membersOf(member, `${prefix}${name}.`)),
  );
}

/** A copy with a member replaced or removed. */
function change(value: unknown, member: string, next: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const [name, ...rest] = member.split(".");
  const changed = Object.entries(value).flatMap(([key, old]): readonly (readonly [string, unknown])[] => {
    if (key !== name) return [[key, old]];
    if (rest.length > 0) return [[key, change(old, rest.join("."), next)]];
    return next === undefined ? [] : [[key, next]];
  });
  return Array.isArray(value) ? changed.map(([, item]) => item) : Object.fromEntries(changed);
}

/** Content chosen by the service: arbitrary names, none required. */
const isFree = (member: string) => /^request\.(labels|contract)\.|^robot\.labels\.|^files\.\d+$/.test(member);
const REQUIRED = membersOf(RECORD).filter((member) => !isFree(member));

test("isRegistrationRecord: saved record → true", () => {
  expect(isRegistrationRecord(RECORD)).toBe(true);
  expect(isRegistrationRecord({ ...RECORD, files: [] })).toBe(true);
});

test.each(REQUIRED)("isRegistrationRecord: without %s → false", (member) => {
  expect(isRegistrationRecord(change(RECORD, member, undefined))).toBe(OPTIONAL.has(member));
});

test.each(REQUIRED)("isRegistrationRecord: null as %s → false", (member) => {
  expect(isRegistrationRecord(change(RECORD, member, null))).toBe(NULLABLE.has(member));
});

test.each(REQUIRED)("isRegistrationRecord: another type as %s → false", (member) => {
  expect(isRegistrationRecord(change(RECORD, member, [[]]))).toBe(false);
});

test.each([
  ["request.labels.line", 1],
  ["robot.labels.line", null],
  ["files.0", null],
  ["files.0.sha256", "d".repeat(63)],
  ["files.0.sha256", "D".repeat(64)],
  ["files.0.bytes", -1],
  ["files.0.bytes", 1.5],
  ["files.0.stat.kind", "directory"],
  ["files.0.stat.device", ""],
  ["files.0.stat.inode", "1e3"],
  ["files.0.stat.mtime_ns", "9".repeat(21)],
  ["in_doubt", "false"],
])("isRegistrationRecord: invalid %s → false", (member, value) => {
  expect(isRegistrationRecord(change(RECORD, member, value))).toBe(false);
});
