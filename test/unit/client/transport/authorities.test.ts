/** @module-tag needs/program */
import { readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { afterAll, beforeAll, expect, it } from "vitest";

import { createAuthorities } from "../../../../src/client/transport/certificates.ts";
import { type Files, systemFiles } from "../../../../src/platform/files/files.ts";
import { type Authority, createAuthority } from "../../../integration/client/authority.ts";
import { PushedClock } from "../../../support/pushed-clock.ts";
import { temporaryFolder } from "../../look/machine.ts";

let authority: Authority;
beforeAll(() => {
  authority = createAuthority();
});
afterAll(() => authority[Symbol.dispose]());

/** A CA file, and how often it was opened. */
async function scene(content = readFileSync(authority.ca_file, "utf8")) {
  const path = join(await temporaryFolder(), "ca.pem");
  writeFileSync(path, content);
  const counts = { opened: 0 };
  const files: Files = {
    ...systemFiles,
    openForReading(file) {
      counts.opened += 1;
      return systemFiles.openForReading(file);
    },
  };
  const clock = new PushedClock();
  return { path, content, counts, clock, read: createAuthorities(files, path, clock) };
}

it("createAuthorities: settled file → read once more, then only stat", async () => {
  const { counts, clock, read } = await scene();
  const first = await read();
  expect(first).toHaveLength(1);
  for (let heartbeats = 0; heartbeats < 4; heartbeats += 1) {
    clock.push(30_000);
    expect(await read()).toEqual(first);
  }
  expect(counts.opened).toBe(2);
});

it("createAuthorities: recently changed file → read each time, because another change may have an equal stat", async () => {
  const { path, content, counts, clock, read } = await scene();
  await read();
  clock.push(1999);
  expect(await read()).toHaveLength(1);
  const moment = new Date("2026-01-01T00:00:00Z");
  writeFileSync(path, content + content);
  utimesSync(path, moment, moment);
  expect(await read()).toHaveLength(2);
  clock.push(1000);
  expect(await read()).toHaveLength(2);
  expect(counts.opened).toBe(4);
});

it("createAuthorities: edited, damaged or removed file → applies to the next connection", async () => {
  const { path, content, clock, read } = await scene();
  for (let heartbeats = 0; heartbeats < 3; heartbeats += 1) {
    await read();
    clock.push(30_000);
  }
  writeFileSync(path, content + content);
  expect(await read()).toHaveLength(2);
  writeFileSync(path, "no certificate");
  await expect(read()).rejects.toMatchObject({ reason: "tls", code: "CA_FILE_NOT_PEM" });
  const missing = createAuthorities(systemFiles, `${path}.gone`, clock);
  await expect(missing()).rejects.toMatchObject({ reason: "tls", code: "CA_FILE_MISSING" });
});
