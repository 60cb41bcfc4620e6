import { readFile, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { beforeEach, describe, expect, test } from "vitest";

import { createCleanStop } from "../../../../src/agent/registration/clean-stop.ts";
import { keepRegistration } from "../../../../src/agent/registration/kept-registration.ts";
import type { Registration } from "../../../../src/agent/registration/record.ts";
import {
  loadRegistration,
  registrationPath,
  saveRegistration,
} from "../../../../src/agent/registration/registration.ts";
import { checksum, readState, setAside } from "../../../../src/agent/registration/state-file.ts";
import { systemFiles } from "../../../../src/platform/files/files.ts";
import { testFolder } from "../../../support/folder.ts";
import { stateOfNewerAgent } from "../../../support/robot/newer-state.ts";

let folder = "";
beforeEach(() => void (folder = testFolder("registration")));

async function example(): Promise<Registration> {
  const stat = await systemFiles.stat(import.meta.filename);
  return {
    service_url: "https://policy.example",
    machine: "ab".repeat(32),
    request: {
      name: "arm-7",
      robot_type_id: "yam.bimanual-joint-position.v1",
      region: "eu",
      configuration_digest: `sha256:${"c".repeat(64)}`,
      labels: { line: "a" },
      contract: { schema: "robot-contract/v1", nested: [1, { a: null }] },
    },
    in_doubt: false,
    files: [
      {
        label: "left",
        path: import.meta.filename,
        sha256: "d".repeat(64),
        bytes: 12,
        suspect: false,
        stat,
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
}

describe("clean stop", () => {
  test("left → taken once", async () => {
    const { leave, take } = createCleanStop(systemFiles, folder);
    expect(await take()).toBe(false);
    await leave();
    expect([await take(), await take()]).toEqual([true, false]);
  });

  test("a registration that the disk refuses → the stop before it counts no more", async () => {
    const { leave, take } = createCleanStop(systemFiles, folder);
    await leave();
    const full = {
      ...systemFiles,
      createExclusive: () => Promise.reject(Object.assign(new Error("no"), { code: "ENOSPC" })),
    };
    const kept = keepRegistration(full, folder, null);
    await kept.accept(await example());
    expect(kept.problem).toContain("ENOSPC");
    expect(await take()).toBe(false);
  });
});

describe("registration", () => {
  test("save, load → the same record, to the nanosecond", async () => {
    const saved = await example();
    await saveRegistration(systemFiles, folder, saved);
    expect(await loadRegistration(systemFiles, folder)).toStrictEqual({ kind: "registration", registration: saved });
  });

  test("save, state directory missing → made for the owner and the group", async () => {
    const missing = join(folder, "state");
    await saveRegistration(systemFiles, missing, await example());
    expect([(await stat(missing)).mode & 0o777, await readdir(missing)]).toEqual([0o750, ["registration.json"]]);
  });

  test("state of an earlier agent without a text → the robot has none", async () => {
    const saved = await example();
    const { site: _site, ...robot } = saved.robot;
    // @ts-expect-error -- this agent always saves the text
    await saveRegistration(systemFiles, folder, { ...saved, robot });
    expect(await loadRegistration(systemFiles, folder)).toStrictEqual({ kind: "registration", registration: saved });
  });

  test("save → no other file remains", async () => {
    await saveRegistration(systemFiles, folder, await example());
    await saveRegistration(systemFiles, folder, await example());
    expect(await readdir(folder)).toEqual(["registration.json"]);
  });

  test("scenario 34: leftover of a power cut → replaced", async () => {
    await writeFile(`${registrationPath(folder)}.new`, "half of a regis");
    await saveRegistration(systemFiles, folder, await example());
    expect(await readdir(folder)).toEqual(["registration.json"]);
    expect((await loadRegistration(systemFiles, folder)).kind).toBe("registration");
  });

  test("no file → none", async () => {
    expect(await loadRegistration(systemFiles, folder)).toEqual({ kind: "none" });
  });

  test("scenario 34: file truncated at any byte → damaged", async () => {
    await saveRegistration(systemFiles, folder, await example());
    const whole = await readFile(registrationPath(folder));
    // The last byte is an optional line feed.
    for (let length = 0; length < whole.byteLength - 1; length += 7) {
      await writeFile(registrationPath(folder), whole.subarray(0, length));
      expect(await loadRegistration(systemFiles, folder)).toMatchObject({ kind: "damaged" });
    }
  });

  test("changed byte → damaged", async () => {
    await saveRegistration(systemFiles, folder, await example());
    const text = await readFile(registrationPath(folder), "utf8");
    await writeFile(registrationPath(folder), text.replace('"arm-7"', '"arm-8"'));
    expect(await loadRegistration(systemFiles, folder)).toMatchObject({ kind: "damaged" });
  });

  test("any flipped bit → damaged, never the state of a newer agent", async () => {
    await saveRegistration(systemFiles, folder, await example());
    const path = registrationPath(folder);
    const whole = await readFile(path);
    const original = await loadRegistration(systemFiles, folder);
    // All bits of the head, which contains the version, and some bits of the rest.
    for (let bit = 0; bit < whole.byteLength * 8; bit += bit < 64 * 8 ? 1 : 41) {
      const flipped = Uint8Array.from(whole, (byte, index) => (index === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte));
      await writeFile(path, flipped);
      const loaded = await loadRegistration(systemFiles, folder);
      // One white space may become another.
      if (loaded.kind === "registration") expect(loaded).toStrictEqual(original);
      else expect([bit, loaded.kind]).toEqual([bit, "damaged"]);
    }
  });

  test("state of a newer agent → kept and reported", async () => {
    await writeFile(registrationPath(folder), stateOfNewerAgent(2));
    await expect(loadRegistration(systemFiles, folder)).rejects.toMatchObject({ code: "state-newer", version: 2 });
  });

  test("setAside: keeps the file under a name with the reason", async () => {
    await writeFile(registrationPath(folder), "foreign");
    expect(await setAside(systemFiles, registrationPath(folder))).toBe(join(folder, "registration.json.damaged"));
    expect(await readFile(join(folder, "registration.json.damaged"), "utf8")).toBe("foreign");
  });

  test.each([
    [{ schema_version: 1, checksum: checksum(1, {}), registration: {} }, "content"],
    [{ schema_version: 0, checksum: checksum(0, {}), registration: {} }, "content"],
    [{ schema_version: -1, checksum: checksum(-1, {}), registration: {} }, "damaged"],
    [{ schema_version: "1", checksum: checksum(1, {}), registration: {} }, "damaged"],
    [{ schema_version: 1, checksum: 0, registration: {} }, "damaged"],
    [{ checksum: checksum(1, {}), registration: {} }, "damaged"],
    [[], "damaged"],
    [null, "damaged"],
  ])("readState: %j → %s", async (envelope, kind) => {
    await writeFile(registrationPath(folder), JSON.stringify(envelope));
    expect((await readState(systemFiles, registrationPath(folder), "registration", 1024)).kind).toBe(kind);
  });
});
