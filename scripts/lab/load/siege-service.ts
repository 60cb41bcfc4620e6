import { spawnSync } from "node:child_process";
import { rm } from "node:fs/promises";
import http from "node:http";
import { setPriority } from "node:os";
import { join } from "node:path";

import { endProcess, scratchFolder } from "../../support/end-of-script.ts";
import { type Answer, LAUNCHER_ENVIRONMENT, listening, longestTurnMs, sendRequest, serve } from "../support/release.ts";

export type Answered = Pick<Answer, "status" | "text">;

/** A service with its default limits, an organization that attacks it, and an honest one. */
export interface Besieged extends AsyncDisposable {
  readonly url: string;
  readonly processId: number;
  /** SQLite's file; unused with PostgreSQL. */
  readonly databaseFile: string;
  /** A key of the attacker's organization with all scopes. */
  readonly key: string;
  readonly honestKey: string;
  /** Creates another key in the attacker's organization; without scopes, one that has all of them. */
  makeKey(...scopes: readonly string[]): string;
  /** The longest time for which the event loop ran no timer, since the last question. */
  longestTurnMs(): Promise<number>;
  /** @param key null for a request without one. @returns status 0 for no answer. */
  send(method: string, path: string, body?: string | object | null, key?: string | null): Promise<Answered>;
}

const TIMEOUT_MS = 20_000;

export async function startBesieged(
  program: string,
  storeFlags: readonly string[],
  { priority, isLogStalled }: { readonly priority: number; readonly isLogStalled: boolean },
): Promise<Besieged> {
  const folder = scratchFolder("robot-policy-siege-");
  const store = storeFlags.length > 0 ? storeFlags : ["--data", join(folder, "data")];
  const keyFile = join(folder, "api-key");
  const models = join(import.meta.dirname, "../../../config/models.example.yaml");
  const args = [...store, "--bootstrap-key-file", keyFile, "--listen", "127.0.0.1:0", "--models", models];
  // An unread pipe simulates a log collector that hangs.
  const child = serve(program, args, isLogStalled ? null : join(folder, "log"));
  setPriority(child.pid ?? 0, priority);
  const url = await listening(child);
  const command = (...rest: readonly string[]) => {
    const options = { env: LAUNCHER_ENVIRONMENT, encoding: "utf8" } as const;
    const { status, stdout, stderr } = spawnSync(program, [...rest, ...store], options);
    if (status !== 0) throw new Error(`${rest.join(" ")}: ${stderr}`);
    return stdout.trim().split("\n").at(-1) ?? "";
  };
  const makeKey = (organization: string, scopes: readonly string[]) => {
    const flags = scopes.flatMap((each) => ["--scope", each]);
    return command("keys", "create", "--org", organization, "--label", "siege", ...flags);
  };
  command("orgs", "create", "attacker");
  command("orgs", "create", "honest");
  const key = makeKey("attacker", []);
  const agent = new http.Agent({ keepAlive: true, maxSockets: 512 });
  return {
    url,
    key,
    processId: child.pid ?? 0,
    databaseFile: join(folder, "data", "service.db"),
    honestKey: makeKey("honest", []),
    async longestTurnMs() {
      const { text } = await send(agent, url, "GET", "/metrics", null, null);
      return longestTurnMs(text);
    },
    makeKey: (...scopes) => makeKey("attacker", scopes),
    send: (method, path, body = null, by = key) => send(agent, url, method, path, body, by),
    async [Symbol.asyncDispose]() {
      agent.destroy();
      await endProcess(child);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** @returns status 0 for no answer. */
async function send(
  agent: http.Agent,
  url: string,
  method: string,
  path: string,
  body: string | object | null,
  key: string | null,
): Promise<Answered> {
  const payload = body === null || typeof body === "string" ? body : JSON.stringify(body);
  const options = { agent, method, key, body: payload, timeoutMs: TIMEOUT_MS };
  return sendRequest(new URL(path, url), options).catch(() => ({ status: 0, text: "" }));
}
