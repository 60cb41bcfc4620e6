import { describe, expect, test } from "vitest";

import { nearest } from "../../../src/manifest/nearest.ts";

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
});
