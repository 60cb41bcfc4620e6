import { expect, test } from "vitest";

import {
  type AccessList,
  defaultEntries,
  grantEntries,
  listEntries,
  parseLists,
} from "../../../../src/installer/grant/acl.ts";

function listOf(...lines: readonly string[]): AccessList {
  const lists = parseLists(`${lines.join("\n")}\n`);
  if (lists === null) throw new Error("no access list");
  return lists.access;
}

const READ = 4;
const ENTER = 1;

test.each([
  ["a closed file", ["user::rw-", "group::---", "other::---"], READ, "u:7:r--,m::r--"],
  ["a folder that its group lists", ["user::rwx", "group::r-x", "other::---"], ENTER, "u:7:--x,m::r-x"],
  [
    "mask limits the rights of others → they stay limited",
    ["user::rw-", "user:8:rw-", "group::r--", "mask::---", "other::---"],
    READ,
    "u:7:r--,g::---,u:8:---,m::r--",
  ],
  [
    "own right limited by the mask → restored as far as wanted",
    ["user::rw-", "user:7:rw-", "group::---", "mask::---", "other::---"],
    READ,
    "u:7:r--,m::r--",
  ],
  [
    "own effective right → kept",
    ["user::rwx", "user:7:r--", "group::---", "mask::r--", "other::---"],
    ENTER,
    "u:7:r-x,m::r-x",
  ],
] as const)("grantEntries: %s", (_name, lines, wanted, entries) => {
  expect(grantEntries(listOf(...lines), 7, wanted).join(",")).toBe(entries);
});

test.each([
  [0o600, "d:u::rwx,d:g::---,d:o::---,d:u:7:r--,d:m::r--"],
  [0o640, "d:u::rwx,d:g::r-x,d:o::---,d:u:7:r--,d:m::r-x"],
])(
  "defaultEntries: file of mode %o → new files are as restricted, although a default list replaces the umask",
  (mode, entries) => {
    expect(defaultEntries(null, 7, mode).join(",")).toBe(entries);
  },
);

test("defaultEntries: keeps the entries of an existing default list", () => {
  const preset = listOf("user::rwx", "user:8:rwx", "group::r-x", "mask::rwx", "other::---");
  expect(defaultEntries(preset, 7, 0o600).join(",")).toBe("d:u:7:r--,d:m::rwx");
});

test("parseLists: accepts only what getfacl prints", () => {
  const lists = parseLists(
    "user::rwx\nuser:7:r-x\ngroup::r-x\nmask::r-x\nother::---\ndefault:user::rwx\ndefault:group::---\ndefault:other::---\n",
  );
  expect(listEntries(lists?.access ?? listOf()).join(",")).toBe("u::rwx,g::r-x,o::---,m::r-x,u:7:r-x");
  expect(lists?.default?.mask).toBeNull();
  for (const text of ["", "user::rwx\n", "user::rwz\ngroup::r-x\nother::---\n", "# file: x\nuser::rwx\n"])
    expect(parseLists(text)).toBeNull();
});
