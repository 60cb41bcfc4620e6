/** robot-policy as a process of its own: what only a process has. */

import { expect, it, onTestFinished } from "vitest";

import { openOperatorSite } from "../../support/operator/operator.ts";
import { startWords } from "../../support/programs/command.ts";
import { OPERATOR_PROGRAM } from "../../support/programs/programs-built.ts";

async function start(...words: string[]) {
  const site = await openOperatorSite();
  onTestFinished(() => site[Symbol.asyncDispose]());
  const { url, key } = site.service;
  const environment = { HOME: site.home, ROBOT_POLICY_URL: url, ROBOT_POLICY_API_KEY: key };
  const command = startWords([process.execPath, OPERATOR_PROGRAM, ...words], environment);
  onTestFinished(() => command[Symbol.asyncDispose]());
  return command;
}

it("takes a body from stdin", async () => {
  const command = await start("api", "POST", "/v1/me/api-keys", "--input", "-");
  command.child.stdin?.end('{"label":"from stdin"}');
  expect(await command.ended()).toBe(0);
  expect(command.output()).toContain('"label": "from stdin"');
});

it("Ctrl-C ends a command that waits for stdin with 130", async () => {
  const command = await start("api", "POST", "/v1/me/api-keys", "--input", "-");
  // The program has begun to read what it takes off the pipe: more than a pipe holds.
  await new Promise((resolve) => command.child.stdin?.write(" ".repeat(1_000_000), resolve));
  command.child.kill("SIGINT");
  expect(await command.ended()).toBe(130);
  expect(command.output()).toBe("");
});

it.each([
  ["a list that is watched", ["robots", "list", "--watch"], "No robots are registered yet."],
  ["a login that waits", ["login", "--no-browser"], "Approve the login on this page"],
])("Ctrl-C ends %s with 130, and no word more", async (_case, words, shown) => {
  const command = await start(...words);
  await command.wrote(shown);
  const before = command.output();
  command.child.kill("SIGINT");
  expect(await command.ended()).toBe(130);
  expect(command.output()).toBe(before);
});
