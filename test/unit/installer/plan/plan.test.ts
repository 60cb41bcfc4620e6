import { describe, expect, test } from "vitest";

import type { Installed } from "../../../../src/installer/plan/installed.ts";
import type { Seen } from "../../../../src/installer/plan/observation.ts";
import { noteFolders, planItems } from "../../../../src/installer/plan/plan.ts";
import type { Owner, Step } from "../../../../src/installer/plan/step.ts";
import type { Item } from "../../../../src/installer/plan/wanted.ts";

const PATH = "/etc/a";
const ACCOUNT = { userId: 7, groupId: 7 };
const installed: Installed = {
  current: null,
  versions: [{ id: "1", shipped: new Map([[PATH, "shipped"]]) }],
  switching: null,
  madeFolders: [],
};
const absent: Seen = { kind: "absent" };
const other: Seen = { kind: "other" };
const directory: Seen = { kind: "directory", mode: 0o755, userId: 0, groupId: 0 };
const linkTo = (target: string): Seen => ({ kind: "link", target });
function fileOf(sha256: string, mode = 0o644, ownerId = 0): Seen {
  return { kind: "file", sha256, sizeBytes: 3, mode, userId: ownerId, groupId: ownerId };
}

const content = { content: { kind: "text", text: "new" }, sha256: "new", sizeBytes: 3 } as const;
const file: Item = { kind: "file", path: PATH, ...content, mode: 0o644, owner: "root", keeping: "replaced" };
const editable: Item = { ...file, keeping: "kept" };
const ofService: Item = { ...file, owner: "service" };
const folder: Item = { kind: "directory", path: PATH, mode: 0o755, owner: "root" };
const link: Item = { kind: "link", path: PATH, target: "b", keeping: "replaced" };
const keptLink: Item = { ...link, keeping: "kept" };

/** Kinds of steps, what is kept, and obstacles, as text. */
function planned(item: Item, seen: Seen): readonly string[] {
  const machine = { observation: new Map([[PATH, seen]]), installed, account: ACCOUNT };
  const { steps, kept, inTheWay } = planItems("2", [item], machine);
  return [...steps.map(({ kind }) => kind), ...kept.map(() => "kept"), ...inTheWay.map(() => "in the way")];
}

describe("planItems: observed → steps, kept, obstacles", () => {
  test.each<[what: string, item: Item, table: readonly (readonly [Seen, readonly string[]])[]]>([
    [
      "our file",
      file,
      [
        [absent, ["write-file"]],
        [fileOf("new"), []],
        [fileOf("edited"), ["write-file"]],
        [fileOf("new", 0o600), ["set-access"]],
        [fileOf("new", 0o644, 7), ["set-access"]],
        [linkTo("b"), ["write-file"]],
        [directory, ["in the way"]],
        [other, ["in the way"]],
      ],
    ],
    [
      "a file of the service user",
      ofService,
      [
        [fileOf("new", 0o644, 7), []],
        [fileOf("new"), ["set-access"]],
      ],
    ],
    [
      "a file that administrators may edit",
      editable,
      [
        [absent, ["write-file"]],
        [fileOf("new", 0o600, 7), []],
        [fileOf("shipped"), ["write-file"]],
        [fileOf("edited"), ["kept"]],
        [linkTo("b"), ["kept"]],
        [directory, ["kept"]],
      ],
    ],
    [
      "a folder",
      folder,
      [
        [absent, ["make-directory"]],
        [directory, []],
        [fileOf("new"), ["in the way"]],
        [other, ["in the way"]],
      ],
    ],
    [
      "our link",
      link,
      [
        [absent, ["make-link"]],
        [linkTo("b"), []],
        [linkTo("c"), ["make-link"]],
        [fileOf("new"), ["in the way"]],
      ],
    ],
    [
      "a link that administrators may change",
      keptLink,
      [
        [absent, ["make-link"]],
        [linkTo("b"), []],
        [linkTo("c"), ["kept"]],
        [fileOf("new"), ["kept"]],
      ],
    ],
  ])("%s", (_what, item, table) => {
    expect(table.map(([seen]) => [seen, planned(item, seen)])).toEqual(table);
  });
});

describe("noteFolders: what uninstall may remove", () => {
  const made = (path: string, owner: Owner = "root"): Step => ({ kind: "make-directory", path, mode: 0o755, owner });
  const measureText = async (text: string) => ({ content: { kind: "text", text }, sha256: "", sizeBytes: 0 }) as const;

  /** The new note; null if it does not change. */
  async function noted(madeFolders: readonly string[], ...steps: readonly Step[]): Promise<string | null> {
    const [note] = await noteFolders(steps, { ...installed, madeFolders }, measureText);
    return note?.kind === "write-file" && note.content.kind === "text" ? note.content.text : null;
  }

  test("folders → each of root once, none of the service user", async () => {
    const steps = [made("/etc/b"), made("/etc/a"), made("/var/lib/state", "service")];
    expect(await noted(["/etc/a"], ...steps)).toBe("/etc/a\n/etc/b\n");
  });

  test("all folders recorded → no step", async () => {
    expect(await noted(["/etc/a"], made("/etc/a"), made("/var/lib/state", "service"))).toBeNull();
  });
});
