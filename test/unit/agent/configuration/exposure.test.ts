import { expect, test } from "vitest";

import { findExposure } from "../../../../src/agent/configuration/open.ts";
import { type FileStat, systemFiles } from "../../../../src/platform/files/files.ts";

const ROOT = 0;
const AGENT = 990;
const STRANGER = 1000;

interface Entry {
  readonly mode: number;
  readonly userId: number;
}

/** Findings about /etc/a/config.yaml, as `severity: message`. */
async function judge(file: Entry, folder: Entry): Promise<readonly string[]> {
  const some = await systemFiles.stat("/");
  const stat = async (path: string): Promise<FileStat> => ({ ...some, ...(path.endsWith(".yaml") ? file : folder) });
  const exposure = { severity: "error", consequence: "bad" } as const;
  const findings = await findExposure({ ...systemFiles, stat }, "/etc/a/config.yaml", exposure);
  return findings.map(({ severity, message }) => `${severity}: ${message}`);
}

const FILE = { mode: 0o644, userId: ROOT };
const FOLDER = { mode: 0o755, userId: ROOT };
const OPEN_FOLDER = { mode: 0o777, userId: AGENT };
const OPEN = "warning: /etc/a has mode 0777: bad; chmod o-w /etc/a";

test.each([
  ["as installed", FILE, FOLDER, []],
  ["writable by its group", { ...FILE, mode: 0o664 }, FOLDER, []],
  ["of another user in a closed folder", { ...FILE, userId: STRANGER }, FOLDER, []],
  [
    "writable by everyone",
    { ...FILE, mode: 0o666 },
    FOLDER,
    ["error: /etc/a/config.yaml has mode 0666: bad; chmod o-w /etc/a/config.yaml"],
  ],
  ["in an open folder", FILE, OPEN_FOLDER, [OPEN]],
  ["of the owner of an open folder", { ...FILE, userId: AGENT }, OPEN_FOLDER, [OPEN]],
  [
    "of another user in an open folder",
    { ...FILE, userId: STRANGER },
    OPEN_FOLDER,
    [
      "error: /etc/a/config.yaml was put there by user 1000: bad; look at it, then: chown root /etc/a/config.yaml",
      OPEN,
    ],
  ],
  ["in a sticky folder such as /tmp", FILE, { ...OPEN_FOLDER, mode: 0o1777 }, []],
])("findExposure: a file %s", async (_name, file, folder, expected) => {
  expect(await judge(file, folder)).toEqual(expected);
});
