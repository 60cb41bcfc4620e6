import type { Registration } from "../../../src/agent/registration/registration.ts";

/** A registration with every member: what is in test/golden/agent-state/registration.json. */
export const REGISTRATION: Registration = {
  service_url: "https://policy.example",
  machine: "ab".repeat(32),
  request: {
    name: "arm-7",
    robot_type_id: "yam.bimanual-joint-position.v1",
    region: "eu",
    configuration_digest: `sha256:${"c".repeat(64)}`,
    site: "hall-2",
    labels: { line: "a" },
    contract: { schema: "robot-contract/v1", nested: [1, { a: null }] },
  },
  in_doubt: false,
  files: [
    {
      label: "left",
      path: "/etc/arm.yaml",
      sha256: "d".repeat(64),
      bytes: 12,
      suspect: false,
      stat: {
        kind: "file",
        device: 66306n,
        inode: 2n ** 64n - 1n,
        sizeBytes: 12,
        mtimeNs: -1n,
        ctimeNs: 1_767_225_601_123_456_789n,
        mode: 0o644,
        userId: 1000,
        groupId: 0,
      },
    },
  ],
  robot: {
    id: "rob_1",
    name: "arm-7",
    robot_type_id: "t",
    region: "eu",
    created_at: "2026-01-01T00:00:00Z",
    site: null,
    labels: {},
  },
  registered_at: "2026-01-01T00:00:01Z",
};
