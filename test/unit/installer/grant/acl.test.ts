import { expect, test } from "vitest";

import {
  type Acl,
  grantEntries,
  newFilesEntries,
  parseAcl,
  revokeDefaultWords,
  revokeWords,
} from "../../../../src/installer/grant/acl.ts";

function aclOf(...lines: readonly string[]): Acl {
  const acl = parseAcl(`# file: /proc/self/fd/3\n${lines.join("\n")}\n`);
  if (acl === null) throw new Error("no access list");
  return acl;
}

const CLOSED = ["user::rw-", "group::---", "other::---"];

test.each([
  ["a closed file", CLOSED, "r--", "u:7:r--"],
  ["a folder that its group lists", ["user::rwx", "group::r-x", "other::---"], "--x", "u:7:--x"],
  [
    "mask limits the rights of others → they stay limited",
    ["user::rw-", "user:8:rw-\t#effective:---", "group::r--\t#effective:---", "mask::---", "other::---"],
    "r--",
    "u:7:r--,u:8:---,g::---",
  ],
  [
    "own right limited by the mask → restored as far as wanted",
    ["user::rw-", "user:7:rw-\t#effective:---", "group::---", "mask::---", "other::---"],
    "r--",
    "u:7:r--",
  ],
  [
    "own effective right → kept",
    ["user::rwx", "user:7:r--", "group::---", "mask::r--", "other::---"],
    "--x",
    "u:7:r-x",
  ],
])("grantEntries: %s", (_name, lines, wanted, entries) => {
  expect(grantEntries(aclOf(...lines), "", 7, wanted).join(",")).toBe(entries);
});

test.each([
  ["u=rw", CLOSED, "d:u::rwx,d:g::---,d:o::---,d:u:7:r--"],
  ["u=rw,g=r", ["user::rw-", "group::r--", "other::---"], "d:u::rwx,d:g::r-x,d:o::---,d:u:7:r--"],
])(
  "newFilesEntries: file of %s → new files are as restricted, although a default list replaces the umask",
  (...row) => {
    const [_mode, file, entries] = row;
    expect(newFilesEntries(aclOf("user::rwx", "group::r-x", "other::r-x"), aclOf(...file), 7).join(",")).toBe(entries);
  },
);

const FOLDER = ["user::rwx", "group::r-x", "other::---", "default:user::rwx"];

test("newFilesEntries: keeps the entries of an existing default list", () => {
  const folder = aclOf(
    ...FOLDER,
    "default:user:8:rwx",
    "default:group::r-x",
    "default:mask::rwx",
    "default:other::---",
  );
  expect(newFilesEntries(folder, aclOf(...CLOSED), 7).join(",")).toBe("d:u:7:r--");
});

test.each([
  ["the only entry → no list is left", ["user:7:r--", "mask::r--"], "---", ["--set=u::rw-,g::---,o::---"]],
  [
    "hidden by the mask → goes all the same",
    ["user:7:r--\t#effective:---", "mask::---"],
    "---",
    ["--set=u::rw-,g::---,o::---"],
  ],
  [
    "others stay",
    ["user:7:r--", "user:8:rw-\t#effective:r--", "mask::r--"],
    "---",
    ["--set=u::rw-,g::---,o::---,u:8:r--"],
  ],
  ["a right from before → stays", ["user:7:r-x", "mask::r-x"], "--x", ["--set=u::rw-,g::---,o::---,u:7:--x"]],
  [
    "a right from before, hidden since → goes",
    ["user:7:r-x\t#effective:---", "mask::---"],
    "--x",
    ["--set=u::rw-,g::---,o::---"],
  ],
  ["taken away by hand", [], "---", []],
])("revokeWords: %s", (_name, lines, before, words) => {
  expect(revokeWords(aclOf(...CLOSED, ...lines), 7, before)).toEqual(words);
});

test.each([
  ["made by the grant → goes", "created", ["default:user:7:r--"], ["--remove-default"]],
  [
    "was there before → stays",
    "added",
    ["default:user:7:r--"],
    ["--remove-default", "--modify=d:u::rwx,d:g::---,d:o::---"],
  ],
  [
    "made by the grant, serves others by now → stays",
    "created",
    ["default:user:7:r--", "default:user:8:r--"],
    ["--remove-default", "--modify=d:u::rwx,d:g::---,d:o::---,d:u:8:r--"],
  ],
  ["does not name the user", "created", [], []],
] as const)("revokeDefaultWords: %s", (_name, newFiles, lines, words) => {
  const folder = aclOf(...FOLDER, "default:group::---", "default:other::---", ...lines);
  expect(revokeDefaultWords(folder, 7, newFiles)).toEqual(words);
});

test("parseAcl: accepts only what getfacl prints", () => {
  expect(aclOf("user::rwx", "user:7:r-x", "group::r-x", "mask::r-x", "other::---")).toHaveLength(4);
  for (const text of ["", "user::rwx\n", "user::rwz\ngroup::r-x\nother::---\n", "user::rwx\nnonsense\n"])
    expect(parseAcl(text)).toBeNull();
});
