import { dirname } from "node:path";

import { explainAccess } from "../../access/access.ts";
import { judgeAs } from "../../access/judge.ts";
import { type Account, accountName, lookUpAccount, readUsers } from "../../access/account.ts";
import { DROP_IN_DIRECTORY, type FoundUnit, SERVICE_NAME } from "../../access/unit.ts";
import { replaceDurably } from "../../platform/files/durable-file.ts";
import { errorCode, type Files } from "../../platform/files/files.ts";
import type { Problem } from "../../platform/terminal.ts";
import type { GrantMachine } from "./record.ts";

/** A drop-in of the unit that changes the agent's user. */
export interface DropIn {
  readonly path: string;
  readonly text: string;
  readonly settings: readonly string[];
  /** The agent's user with the drop-in. */
  readonly account: Account;
  readonly notes: readonly string[];
}

export type PlannedDropIn =
  | { readonly kind: "drop-in"; readonly planned: DropIn }
  | { readonly kind: "refused"; readonly problem: Problem };

const DROP_IN = `${DROP_IN_DIRECTORY}/50-grant.conf`;

/** The agent runs as the files' owner. Works however the files are written, but is the widest grant. */
export async function planOwner(machine: GrantMachine, paths: readonly string[]): Promise<PlannedDropIn> {
  const owners = new Set<number>();
  for (const path of paths) {
    try {
      owners.add((await machine.files.stat(path)).userId);
    } catch (error) {
      return refuse(
        `it cannot be read (${errorCode(error) ?? "unknown error"})`,
        path,
        "correct the path in the manifest",
      );
    }
  }
  // Files of root may be readable for the owner of the others: `confirm` asks the kernel.
  owners.delete(0);
  const [ownerId] = owners;
  if (ownerId === undefined) {
    const what = "the files belong to root, and the agent must not be root";
    return refuse(what, paths[0] ?? "", "another method: --method acl");
  }
  if (owners.size > 1) {
    const what = `the files belong to ${owners.size} users, and the agent can run as only one`;
    return refuse(what, paths[0] ?? "", "another method: --method acl");
  }
  const users = await readUsers(machine.files);
  const name = users.find(({ userId }) => userId === ownerId)?.name ?? String(ownerId);
  const account = await lookUpAccount(machine.runProgram, name);
  if (account === null)
    return refuse(`user ${name} is in no user database`, paths[0] ?? "", "another method: --method acl");
  const notes = [
    `the agent can then read whatever ${name} can, and ${name} can read the agent's key and state`,
    `systemd gives the state folder to ${name} at the next start`,
  ];
  return confirm(machine, account, paths, dropIn([`User=${name}`], account, notes));
}

/** Asks the kernel whether that user can read the files. */
async function confirm(
  machine: GrantMachine,
  account: Account,
  paths: readonly string[],
  planned: DropIn,
): Promise<PlannedDropIn> {
  const accesses = await explainAccess(machine.files, judgeAs(account, machine.runProgram), paths);
  for (const [path, access] of accesses) {
    if (access.kind === "readable") continue;
    const what = `${accountName(account)} still could not read it`;
    return refuse(what, path, "another method: --method acl");
  }
  return { kind: "drop-in", planned };
}

function dropIn(settings: readonly string[], account: Account, notes: readonly string[]): DropIn {
  const text = [
    `# Written by: ${SERVICE_NAME} grant --method owner. Taken back by: ${SERVICE_NAME} grant --revoke`,
    "[Service]",
    ...settings,
    "",
  ].join("\n");
  return { path: DROP_IN, text, settings, account, notes };
}

/** @throws Node system errors. */
export async function writeDropIn(files: Files, { path, text }: Pick<DropIn, "path" | "text">): Promise<void> {
  await files.makeDirectory(dirname(path), 0o755);
  await replaceDurably(files, path, Buffer.from(text), 0o644);
}

/** Reloads the units and restarts the agent. @returns the command to run by hand if that failed, else null. */
export async function restartUnit({ runProgram }: GrantMachine, unit: FoundUnit): Promise<string | null> {
  if (unit.kind === "no-systemd") return null;
  for (const words of [["daemon-reload"], ["try-restart", `${SERVICE_NAME}.service`]]) {
    const result = await runProgram(["systemctl", ...words], { limitMs: RESTART_LIMIT_MS });
    if (result.kind !== "ended" || result.exitCode !== 0)
      return `systemctl daemon-reload && systemctl restart ${SERVICE_NAME}`;
  }
  return null;
}

const RESTART_LIMIT_MS = 90_000;

function refuse(what: string, where: string, fix: string): PlannedDropIn {
  return { kind: "refused", problem: { code: "grant-refused", what, where, fix } };
}
