import { expect, it } from "vitest";

import { operatorProgram } from "../../../src/cli/operator-program.ts";
import { runSession, SESSION, steadyText } from "../../support/operator/operator-session.ts";

it.each(["whole", "eleven"] as const)("every command against the %s service → the recorded output", async (which) => {
  const texts: string[] = [];
  for await (const entry of runSession(which)) {
    if (entry.isSteady) texts.push(steadyText(entry));
  }
  await expect(`${texts.join("\n\n")}\n`).toMatchFileSnapshot(`../../golden/operator-session/${which}.txt`);
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
