/** Every command on a page can be typed: its program, its subcommand and its flags exist. Nothing is started here. */
import { access } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { agentProgram } from "../../../src/agent/commands/table.ts";
import type { ProgramTable } from "../../../src/cli/command-table.ts";
import { operatorProgram } from "../../../src/operator/program.ts";
import { runProgram } from "../../../src/cli/run-program.ts";
import { serviceProgram } from "../../../src/service/program.ts";
import { commandsOf, plainCommand, splitLine } from "../../support/documents/commands.ts";
import { blocksOf, proseOf, readPage, readPages, ROOT } from "../../support/documents/pages.ts";
import { runInProcess } from "../../support/programs/in-process.ts";

const PROGRAMS: Readonly<Record<string, ProgramTable<never, never>>> = {
  "robot-policy-agent": agentProgram,
  "robot-policy": operatorProgram,
  "robot-policy-service": serviceProgram,
};
/** Other programs that the blocks use; a misspelt one of ours is not among them. */
const OTHERS = new Set(
  "apt cp createdb curl cut echo export gpg groupadd install ln mkdir mv node npm openssl pg_dump pg_restore printf psql rm sh sha256sum systemctl systemd-sysusers tee vitest".split(
    " ",
  ),
);

test("blocks of every page: commands of our programs → parse", async () => {
  const blocks = (await readPages()).flatMap(blocksOf).filter(({ language }) => /^(?:sh|console)$/.test(language));
  const commands = blocks.flatMap((block) => commandsOf(block).map((words) => ({ place: block.place, words })));
  const own = commands.filter(({ words }) => PROGRAMS[plainCommand(words)[0] ?? ""] !== undefined);
  expect(own.length).toBeGreaterThan(40);
  const wrong: string[] = [];
  for (const { place, words } of commands) {
    const [program = "", ...argv] = plainCommand(words);
    const table = PROGRAMS[program];
    if (table !== undefined) wrong.push(...(await mistakesIn(table, argv)).map((text) => `${place}: ${text}`));
    else if (!OTHERS.has(program) && !program.startsWith("scripts/")) wrong.push(`${place}: no program ${program}`);
  }
  expect(wrong).toEqual([]);
});

test("sentences of every page, and what alerts say to do: commands of our programs → parse", async () => {
  const wrong: string[] = [];
  let count = 0;
  for (const page of [...(await readPages()), await readPage("config/prometheus-alerts.example.yaml")]) {
    for (const [, code = ""] of proseOf(page).matchAll(/`([^`]+)`/g)) {
      for (const words of splitLine(code)) {
        const [program = "", ...argv] = plainCommand(words);
        const table = PROGRAMS[program];
        // A program, a group or a command alone is a name; "…" stands for what is left out.
        if (table === undefined || argv.length === 0 || argv.includes("…") || isGroup(table, argv)) continue;
        count += 1;
        const mistakes = (await mistakesIn(table, argv)).filter((text) => !text.includes("missing required argument"));
        wrong.push(...mistakes.map((text) => `${page.path}: ${text}`));
      }
    }
  }
  expect(count).toBeGreaterThan(20);
  expect(wrong).toEqual([]);
});

test("every page: named scripts, example files and units → exist", async () => {
  const missing: string[] = [];
  for (const { path, text } of await readPages()) {
    // The specification names files of the vendors' repositories.
    if (path === "src/manifest/SPECIFICATION.md") continue;
    for (const [named] of text.matchAll(/(?<![\w./-])(?:scripts|config|systemd)\/[\w-]+(?:[./][\w-]+)*/g)) {
      await access(join(ROOT, named)).catch(() => missing.push(`${path}: ${named}`));
    }
  }
  expect(missing).toEqual([]);
});

/** What the program says of these arguments when its commands do nothing. */
async function mistakesIn(table: ProgramTable<never, never>, argv: readonly string[]): Promise<readonly string[]> {
  const commands = table.commands.map((row) => ({ ...row, load: async () => async () => 0 }));
  const { exitCode, err } = await runInProcess(table.name, ({ terminal, signal }) =>
    runProgram({ ...table, commands }, argv, { version: "0", terminal, signal, context: undefined as never }),
  );
  return exitCode === 0 ? [] : [`${table.name} ${argv.join(" ")}: ${err.split("\n")[0]}`];
}

function isGroup({ groups = {} }: ProgramTable<never, never>, argv: readonly string[]): boolean {
  return argv.length === 1 && Object.hasOwn(groups, argv[0] ?? "");
}
