import { readFileSync } from "node:fs";

import { expect, it } from "vitest";

import { operatorProgram } from "../../../src/operator/program.ts";
import {
  runSession,
  runStubSession,
  SESSION,
  type SessionEntry,
  steadyText,
} from "../../support/operator/operator-session.ts";

const GOLDEN = "../../golden/operator-session";

async function textsOf(entries: AsyncGenerator<SessionEntry>): Promise<readonly string[]> {
  return (await Array.fromAsync(entries)).filter(({ isSteady }) => isSteady).map(steadyText);
}

const inOneFile = (texts: readonly string[]) => `${texts.join("\n\n")}\n`;

it("every command against our service → the recorded output", async () => {
  await expect(inOneFile(await textsOf(runSession()))).toMatchFileSnapshot(`${GOLDEN}/whole.txt`);
});

it("every command against a service that has only what its document describes → the recorded output, where it differs", async () => {
  const whole = readFileSync(new URL(`${GOLDEN}/whole.txt`, import.meta.url), "utf8");
  const recorded = new Set(whole.trimEnd().split(/\n\n(?=\$ robot-policy )/));
  const different = (await textsOf(runStubSession())).filter((text) => !recorded.has(text));
  await expect(inOneFile(different)).toMatchFileSnapshot(`${GOLDEN}/stub.txt`);
});

/** Commands that need a person or run until interrupted; other tests cover them. */
const ELSEWHERE: ReadonlySet<string> = new Set(["login", "completion"]);

it("every other command occurs in the session", () => {
  const typed = new Set(SESSION.flatMap(({ words }) => [words[0], words.slice(0, 2).join(" ")]));
  const missing = operatorProgram.commands
    .map(({ name }) => name)
    .filter((name) => !typed.has(name) && !ELSEWHERE.has(name));
  expect(missing).toEqual([]);
});
