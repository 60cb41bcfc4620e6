import { describe, expect, test } from "vitest";

import { READY_CATALOG } from "../../../src/manifest/catalog/ids.ts";
import { nearest } from "../../../src/documents/nearest.ts";

const KEYS = [
  "service",
  "robot",
  "manifest",
  "watch",
  "log",
  "key_file",
  "ca_file",
  "robot_type_id",
  "configuration_files",
];

describe("nearest", () => {
  test.each([
    ["sevice", "service"],
    ["serivce", "service"],
    ["Robot", "robot"],
    ["keyFile", "key_file"],
    ["key-file", "key_file"],
    ["ca_fiel", "ca_file"],
    ["config_files", "configuration_files"],
    ["type_id", "robot_type_id"],
    ["type", "robot_type_id"],
    ["file", undefined],
    ["logarithm", "log"],
    ["name", undefined],
    ["", undefined],
    ["s".repeat(65), undefined],
  ])("nearest: %j → %j", (written, word) => {
    expect(nearest(written, KEYS)).toBe(word);
  });

  test.each([
    ["droid.franka", "droid.franka-panda.v1"],
    ["lekiwi", "lerobot.lekiwi.v1"],
    ["so101-follower", undefined],
    ["ur.ur5e-2f85.v1.1", "ur.ur5e-2f85.v1"],
    ["ur.ur5e-2f85.v1-left-arm", "ur.ur5e-2f85.v1"],
  ])("nearest: %j, of the ids of a map → %j", (written, id) => {
    expect(nearest(written, READY_CATALOG.keys())).toBe(id);
  });
});
