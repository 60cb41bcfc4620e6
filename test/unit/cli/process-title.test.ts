/** @module-tag needs/program */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";

import { expect, it, onTestFinished } from "vitest";

import { titleWithoutPasswords } from "../../../src/cli/process-title.ts";
import { SERVICE_PROGRAM } from "../../support/programs/programs-built.ts";
import { PATIENCE_MS } from "../../support/run/patience.ts";

it.each([
  [["serve", "--data", "/srv"], undefined],
  [["serve", "--database", "postgres://robots@db/robots"], undefined],
  [["serve", "--database", "postgres://robots:secret@db/robots"], "p serve --database postgres://robots:***@db/robots"],
  [["serve", "--database=postgresql://r:s@e:c@db/x"], "p serve --database=postgresql://r:***@db/x"],
  [
    ["--database", "postgres://r@db/x?password=secret&sslmode=require"],
    "p --database postgres://r@db/x?password=***&sslmode=require",
  ],
])("titleWithoutPasswords: %j → %j", (argv, title) => {
  expect(titleWithoutPasswords("p", argv)).toBe(title);
});

it.skipIf(process.platform !== "linux")("running program → its arguments do not contain the password", async () => {
  // Accepts connections and never answers, so the program waits.
  const silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  const address = silent.address();
  const port = typeof address === "object" ? address?.port : 0;
  const url = `postgres://robots:tr0ub4dor@127.0.0.1:${port}/robots`;
  const program = spawn(process.execPath, [SERVICE_PROGRAM, "orgs", "list", "--database", url], { stdio: "ignore" });
  const closed = once(program, "close");
  onTestFinished(async () => {
    program.kill("SIGKILL");
    silent.close();
    await closed;
  });
  const shown = () => readFile(`/proc/${program.pid}/cmdline`, "latin1");
  await expect.poll(shown, { timeout: PATIENCE_MS }).toContain("postgres://robots:***@127.0.0.1");
  expect(await shown()).not.toContain("tr0ub4dor");
});
