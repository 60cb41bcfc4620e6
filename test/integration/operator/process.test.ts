/**
 * robot-policy as a process: stdin and signals.
 *
 * @module-tag needs/program
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, it, onTestFinished } from "vitest";

import { openOperatorSite } from "../../support/operator/operator.ts";
import { startWords, wordsOnTerminal } from "../../support/programs/command.ts";
import { hasProgram } from "../../support/programs/programs.ts";
import { OPERATOR_PROGRAM } from "../../support/programs/programs-built.ts";
import { PATIENCE_MS } from "../../support/run/patience.ts";

async function start(...args: string[]) {
  const { environment } = await openSite();
  return startWith(environment, [process.execPath, OPERATOR_PROGRAM, ...args]);
}

async function openSite() {
  const site = await openOperatorSite();
  onTestFinished(() => site[Symbol.asyncDispose]());
  const { url, key } = site.service;
  return { site, environment: { HOME: site.home, ROBOT_POLICY_URL: url, ROBOT_POLICY_API_KEY: key } };
}

function startWith(environment: Readonly<Record<string, string>>, words: readonly string[]) {
  const command = startWords(words, environment);
  onTestFinished(() => command[Symbol.asyncDispose]());
  return command;
}

it("--input -: reads the body from stdin", async () => {
  const command = await start("api", "POST", "/v1/me/api-keys", "--input", "-");
  command.child.stdin?.end('{"label":"from stdin"}');
  expect(await command.ended()).toBe(0);
  expect(command.output()).toContain('"label": "from stdin"');
});

it("Ctrl-C while it reads stdin → exit 130", async () => {
  const command = await start("api", "POST", "/v1/me/api-keys", "--input", "-");
  // More than a pipe holds: the write completes only once the program reads.
  await new Promise((resolve) => command.child.stdin?.write(" ".repeat(1_000_000), resolve));
  command.child.kill("SIGINT");
  expect(await command.ended()).toBe(130);
  expect(command.output()).toBe("");
});

it("Ctrl-C during a waiting login → exit 130 and no further output", async () => {
  const last = "Deny a login with another code.";
  const command = await start("login", "--no-browser");
  await command.wrote(last);
  command.child.kill("SIGINT");
  expect(await command.ended()).toBe(130);
  // What is written before may arrive in pieces.
  expect(command.output().endsWith(`${last}\n`), command.output()).toBe(true);
});

it.skipIf(!hasProgram("script"))("a waiting login whose terminal closes → exit 130", async () => {
  const { site, environment } = await openSite();
  const exitCode = join(site.home, "exit-code");
  const words = [process.execPath, OPERATOR_PROGRAM, "login", "--no-browser"];
  const terminal = startWith({ ...environment, TERM: "xterm" }, wordsOnTerminal(words, exitCode));
  await terminal.wrote("Deny a login with another code.");
  terminal.child.kill("SIGKILL");
  await expect.poll(() => readFile(exitCode, "utf8").catch(() => ""), { timeout: PATIENCE_MS }).toBe("130\n");
});
