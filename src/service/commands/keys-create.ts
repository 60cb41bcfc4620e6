import { API_KEY_LABEL_LENGTH, API_KEY_ROBOTS, apiKeyMaxRobotsSchema, apiKeyRobotsSchema } from "../../api/keys.ts";
import { ROBOT_NAME_LENGTH } from "../../api/robots.ts";
import { API_KEY_SCOPES } from "../../api/wire/scopes.ts";
import type { ApiKeyScope } from "../../api/wire/scopes.ts";
import { text } from "../../api/wire/text.ts";
import { keyRobotsInWords } from "../../api/words/key-robots.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { ExitCode, Problem } from "../../platform/terminal.ts";
import { bindingProblem } from "../kernel/auth/key-robots.ts";
import type { KeyRobots } from "../kernel/auth/key-robots.ts";
import { createIds } from "../kernel/ids.ts";
import { API_KEYS_MAXIMUM } from "../keys/queries.ts";
import { addKey, createdView, makeKey } from "../keys/rules.ts";
import type { KeyWish } from "../keys/rules.ts";
import { chosenOrganization } from "./chosen-organization.ts";
import { commandAuthor } from "./command-author.ts";
import { commandLine } from "./command-line.ts";
import { commandMachine } from "./command-machine.ts";
import { readExpiry } from "./expiry.ts";
import type { CommandContext } from "./serve/serve.ts";
import type { StoreFlags } from "./store/locate-store.ts";
import { withStore } from "./store/with-store.ts";

export interface KeysCreateFlags extends StoreFlags {
  readonly label: string;
  /** Name or id; may be left out where there is one organization. */
  readonly org?: string | undefined;
  readonly scope?: readonly string[] | undefined;
  readonly expires?: string | undefined;
  readonly robot?: readonly string[] | undefined;
  readonly maxRobots?: string | undefined;
  readonly json?: boolean;
}

/** `keys create`: the new key is alone on stdout, so that it can go into a file, and is shown nowhere else and never again. */
export async function keysCreate(flags: KeysCreateFlags, { terminal }: CommandContext): Promise<ExitCode> {
  const machine = commandMachine();
  const wish = readWish(flags, machine.clock.wallMs());
  if ("code" in wish) {
    terminal.problem(wish);
    return EXIT.usage;
  }
  return withStore(flags, machine, terminal, async (store) => {
    const organization = await chosenOrganization(store, flags);
    if ("code" in organization) {
      terminal.problem(organization);
      return EXIT.failed;
    }
    const newId = createIds(machine.clock, machine.random);
    const author = { ...commandAuthor(newId, machine.clock), organizationId: organization.id };
    const { key, row } = makeKey(
      { ...wish, organization_id: organization.id },
      newId("key"),
      author.at,
      machine.random,
    );
    if (!(await store.write((transaction) => addKey(transaction, row, author)))) {
      terminal.problem(tooMany(organization.name, commandLine("keys revoke ID", flags)));
      return EXIT.failed;
    }
    if (flags.json === true) terminal.json(createdView(row, key));
    else terminal.print(key);
    // Beside the JSON too: output that gets lost leaves a key that nobody has, and its id is what revokes it.
    const may =
      wish.scopes === null ? "do everything" : `use ${wish.scopes.join(", ")}${keyRobotsInWords(createdView(row, ""))}`;
    const until = wish.expires_at === null ? "it is revoked" : wish.expires_at;
    terminal.note(`${row.id} of ${organization.name} may ${may} until ${until}. The key is not shown again.`);
    terminal.note(`Should it get lost: ${commandLine(`keys revoke ${row.id}`, flags)}`);
    return EXIT.ok;
  });
}

function readWish(
  { label, scope, expires, robot, maxRobots }: KeysCreateFlags,
  nowMs: number,
): Omit<KeyWish, "organization_id"> | Problem {
  if (!text({ minimum: 1, ...API_KEY_LABEL_LENGTH }).safeParse(label).success) {
    const what = `A label has 1 to ${API_KEY_LABEL_LENGTH.maximum} characters.`;
    return { code: "usage", what, where: "--label", fix: "Say what the key is for, such as --label 'arm 3'." };
  }
  const expiry = expires === undefined ? null : readExpiry(expires, nowMs);
  if (expiry !== null && expiry.state !== "read") {
    return { code: "usage", what: expiry.what, where: `--expires ${expires}`, fix: EXPIRY_FIX };
  }
  const scopes = scope === undefined ? null : API_KEY_SCOPES.filter((known) => scope.includes(known));
  const unknown = scope?.find((name) => !isScope(name));
  if (unknown !== undefined) {
    const repeat = unknown.includes(",") ? "Repeat the flag for each: --scope A --scope B. " : "";
    const fix = `${repeat}The scopes are ${API_KEY_SCOPES.join(", ")}.`;
    return { code: "usage", what: "There is no such scope.", where: `--scope ${unknown}`, fix };
  }
  const robots = { names: robot ?? null, maximum: maxRobots === undefined ? null : Number(maxRobots) };
  const unbound = boundWrongly(scopes, robots);
  return unbound ?? { label, scopes, expires_at: expiry?.at ?? null, robots };
}

/** Why the key cannot be bound to these robots; null where it can. */
function boundWrongly(scopes: KeyWish["scopes"], { names, maximum }: KeyRobots): Problem | null {
  if (names === null && maximum === null) return null;
  const where = names === null ? "--max-robots" : "--robot";
  const problem = bindingProblem(scopes);
  if (problem !== null) {
    const what = `${problem.charAt(0).toUpperCase()}${problem.slice(1)}.`;
    return { code: "usage", what, where, fix: "Give it the scope for that alone: --scope robots:setup." };
  }
  if (names !== null && !apiKeyRobotsSchema.safeParse(names).success) {
    const what = `A key is bound to at most ${API_KEY_ROBOTS.names} names of 1 to ${ROBOT_NAME_LENGTH.maximum} characters.`;
    return { code: "usage", what, where, fix: "Name each robot as it registers: --robot cell-4 --robot cell-5." };
  }
  if (maximum !== null && !apiKeyMaxRobotsSchema.safeParse(maximum).success) {
    const what = `The number of robots is not a whole number from 1 to ${API_KEY_ROBOTS.count}.`;
    return { code: "usage", what, where, fix: "Write for example --max-robots 20." };
  }
  return null;
}

const EXPIRY_FIX =
  "Give a day, 2030-01-31 (UTC), a moment with its time zone, 2030-01-31T08:00:00Z, or how long from now: 90d, 12h, 30m.";

function isScope(name: string): name is ApiKeyScope {
  return API_KEY_SCOPES.some((scope) => scope === name);
}

function tooMany(where: string, command: string): Problem {
  return {
    code: "too-many-keys",
    what: `The organization has ${API_KEYS_MAXIMUM.command} keys that are not revoked.`,
    where,
    fix: `Revoke those it does not need: ${command}`,
  };
}
