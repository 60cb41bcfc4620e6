import { expect, it } from "vitest";

import { operatorProgram } from "../../../src/cli/operator-program.ts";
import { runSession, SESSION, steadyText } from "../../support/operator/operator-session.ts";

it.each(["whole", "eleven"] as const)(
  "every command against the %s service prints what it always did",
  async (which) => {
    const texts: string[] = [];
    for await (const entry of runSession(which)) {
      if (entry.isSteady) texts.push(steadyText(entry));
    }
    await expect(`${texts.join("\n\n")}\n`).toMatchFileSnapshot(`../../golden/operator-session/${which}.txt`);
  },
);

/** These need a person, or end by being interrupted; other tests have them. */
const ELSEWHERE: ReadonlySet<string> = new Set(["login", "completion"]);

it("every command is in the session", () => {
  const typed = new Set(SESSION.flatMap(({ words }) => [words[0], words.slice(0, 2).join(" ")]));
  const missing = operatorProgram.commands
    .map(({ name }) => name)
    .filter((name) => !typed.has(name) && !ELSEWHERE.has(name));
  expect(missing).toEqual([]);
});
