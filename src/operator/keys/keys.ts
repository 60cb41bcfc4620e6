import * as z from "zod";

import { beyondSpec, operations } from "../../api/api.ts";
import { apiKeyCreatedSchema, type ApiKeyView, apiKeyViewSchema, ENROLLMENT_USES } from "../../api/keys.ts";
import { keysEndingWith, keysInWords, makerInWords } from "../../api/words/key-lineage.ts";
import { ENROLL_SCOPE, GENERAL_SCOPES } from "../../api/wire/scopes.ts";
import { EXIT, type ExitCode, type Problem, type Terminal } from "../../platform/terminal.ts";
import { bodyOf, flagPlaces } from "../body.ts";
import { confirmationPrompt, makeChange, refusedBy } from "../change.ts";
import { command, type OperatorRow } from "../command.ts";
import { documentOfFailure, isUnknownOperation } from "../failure.ts";
import { find, type Resource } from "../find.ts";
import { CHANGE, DRY_RUN, type Given, labels, LIST, onOff, text, wholeNumber, wordsOf } from "../flags.ts";
import { itemsIn, mapListed } from "../lists/listed.ts";
import { type ListView, noteFacts, otherFacts, showList } from "../lists/show-list.ts";
import { chooseService } from "../logins/choose-service.ts";
import { readMomentFlag } from "../moments.ts";
import { openService } from "../operator.ts";
import { refuse, refuseUsage } from "../refuse.ts";
import { warnOfRegion } from "../robots/registration-checks.ts";
import type { Service } from "../service.ts";
import { type Now, timeAgo, timeUntil } from "../times.ts";
import { keyIn, unconfirmedFlags } from "./created.ts";
import { keyFileProblem, writeKeyFile } from "./file.ts";

const CREATE = {
  scope: wordsOf(
    "<scope>",
    `what it may do, repeatable: ${GENERAL_SCOPES.join(", ")} (default: everything)`,
    GENERAL_SCOPES,
    "a scope",
    { place: "scopes" },
  ),
  expires: text("<when>", "when it expires: 2030-01-31 (UTC), 2030-01-31T08:00:00Z, or 90d, 12h from now", {
    place: "expires_at",
  }),
  enroll: onOff("a key with which robots enroll without an approval, and nothing else", { excludes: ["--scope"] }),
  uses: wholeNumber("<count>", "how many robots may enroll with it", ENROLLMENT_USES, {
    needs: "--enroll",
    place: "enrollment.uses",
  }),
  site: text("<site>", "site of the robots that enroll with it", {
    names: "sites",
    needs: "--enroll",
    place: "enrollment.site",
  }),
  region: text("<region>", "region of the robots that enroll with it", {
    names: "regions",
    needs: "--enroll",
    place: "enrollment.region",
  }),
  label: labels("label of the robots that enroll with it; repeatable", {
    needs: "--enroll",
    place: "enrollment.labels",
  }),
  out: text("<file>", "write it to this new file, which only you can read, and do not print it"),
  ...DRY_RUN,
};

/** API keys. */
export const keyCommands: readonly OperatorRow[] = [
  command({
    name: "keys create",
    summary: "create an API key; prints it once, or writes it to a new file",
    argument: "LABEL",
    flags: CREATE,
    examples: [
      "robot-policy keys create 'cell 4' --scope robots:setup --out ./api-key",
      "robot-policy keys create dashboard --scope robots:read --scope fleets:read --expires 90d",
      "robot-policy keys create 'images of July' --enroll --uses 500 --expires 7d --site plant-1",
    ],
    run: createKey,
  }),
  command({
    name: "keys list",
    aliases: ["ls"],
    summary: "list the API keys, without their secrets",
    flags: LIST,
    examples: ["robot-policy keys list"],
    async run(service) {
      const result = await listKeys(service);
      if (result.kind !== "ok") return showList(service, result, KEYS);
      const keys = new Map(itemsIn(result.value).map((key) => [key.id, key]));
      const withMaker = (key: ApiKeyView) => ({ ...key, maker: makerInWords(key, keys) });
      return showList(service, { ...result, value: mapListed(result.value, withMaker) }, KEYS);
    },
  }),
  command({
    name: "keys revoke",
    summary: "revoke an API key, by its id or label, and the keys that were created with it",
    argument: "KEY",
    flags: CHANGE,
    examples: ["robot-policy keys revoke 'cell 4'", "robot-policy keys revoke key_01jz0000000000000000000000 --yes"],
    run: (service, _flags, name) => revokeKey(service, name),
  }),
];

function listKeys(service: Service) {
  return service.listAll(operations.listApiKeys, ({ items }) => items);
}

/** A key, with the name of the key that created it. */
type ListedKey = ApiKeyView & { readonly maker: string };

const KEYS: ListView<ListedKey> = {
  headers: ["label", "key", "scopes", "created", "last used", "state", "uses", "made with", "id"],
  prose: ["label", "scopes", "made with"],
  spare: ["last used", "created", "made with", "id"],
  row: (key, now) => [
    key.label ?? "",
    shownKey(key),
    // Null means all scopes; undefined means that the service does not show scopes.
    key.scopes === null ? "everything" : (key.scopes?.join(" ") ?? ""),
    timeAgo(key.created_at, now),
    key.last_used_at === null ? "never" : timeAgo(key.last_used_at, now),
    stateOf(key, now),
    (key.uses_remaining ?? null) === null ? "" : `${key.uses_remaining} left`,
    key.maker,
    key.id,
  ],
  empty: "There are no API keys.",
  schema: apiKeyViewSchema,
};

function stateOf({ revoked_at: revokedAt, expires_at: expiresAt }: ApiKeyView, now: Now): string {
  if ((revokedAt ?? null) !== null) return `revoked ${timeAgo(revokedAt, now)}`;
  if ((expiresAt ?? null) === null) return revokedAt === undefined ? "" : "works";
  const isPast = Date.parse(expiresAt ?? "") <= now.ms;
  return `${isPast ? "expired" : "expires"} ${timeUntil(expiresAt, now)}`;
}

/** `sk_rps_…a1B2`: the public parts of a key. */
function shownKey({ key_prefix: keyPrefix, key_last4: keyLast4 }: ApiKeyView): string {
  return [keyPrefix, keyLast4].filter((part) => (part ?? "") !== "").join("…");
}

/** Creates a key, and prints it once, or writes it to a new file without printing it. */
async function createKey(service: Service, flags: Given<typeof CREATE>, label: string): Promise<ExitCode> {
  const { terminal, context } = service;
  if (label.trim() === "") {
    // The service accepts an empty label, but the label is what tells later what the key is for.
    return refuseUsage("the LABEL is empty", "say what the key is for: keys create 'cell 4'", terminal);
  }
  const { out, expires, enroll, uses } = flags;
  if (enroll === true && (uses === undefined || expires === undefined)) {
    const fix = "give how many robots may enroll, and a time at most 90 days ahead: --uses 500 --expires 7d";
    return refuseUsage(`--enroll needs ${uses === undefined ? "--uses" : "--expires"}`, fix, terminal);
  }
  const expiresAt = expires === undefined ? undefined : readMomentFlag("--expires", expires, context);
  if (expiresAt === null) return EXIT.usage;
  const given = bodyOf(CREATE, { ...flags, expires: expiresAt?.iso });
  const body = { label, ...given, ...(enroll === true ? { scopes: [ENROLL_SCOPE] } : {}) };
  if (flags.dryRun === true) return service.showRequest(operations.createApiKey, { body });
  // Before the key is created: a key that cannot be written would be lost.
  const obstacle = out === undefined ? null : await keyFileProblem(out, context.machine.files);
  if (obstacle !== null) return refuse(obstacle, EXIT.failed, terminal);
  if (flags.region !== undefined) await warnOfRegion(service, flags.region, terminal);
  // The document leaves the members of the answer open: whatever it holds must not be lost.
  const result = await service.call({ ...operations.createApiKey, response: z.unknown() }, { body });
  const document = result.kind === "ok" ? result.value.document : documentOfFailure(result);
  if (result.kind !== "ok" && document === undefined) {
    return service.failed(result, { body, places: flagPlaces(CREATE, { label: "LABEL", enrollment: "--enroll" }) });
  }
  const exitCode = await handOver({ label, document, out }, service);
  const asked = { scopes: enroll === true ? [ENROLL_SCOPE] : flags.scope, expires_at: expiresAt?.iso, uses };
  const unconfirmed = unconfirmedFlags(asked, document);
  if (unconfirmed !== "") {
    terminal.warning(`the answer does not confirm ${unconfirmed}.`);
    terminal.note("  What the key may do, and until when: robot-policy keys list.");
  }
  return exitCode;
}

interface Created {
  readonly label: string;
  /** The answer of the service. */
  readonly document: unknown;
  readonly out: string | undefined;
}

/** Prints the key, or writes it to the file of `--out`. An answer in which it is not known is kept whole. */
async function handOver({ label, document, out }: Created, service: Service): Promise<ExitCode> {
  const { terminal, flags, context } = service;
  const id = namedSchema.parse(document).id ?? null;
  const name = `The key ${label}${id === null ? "" : ` (${id})`}`;
  const key = keyIn(document, label);
  if (out !== undefined) {
    const unwritten = await writeKeyFile(out, key ?? JSON.stringify(document), context.machine.files);
    if (unwritten !== null) return giveUp(service, id, unwritten, key ?? JSON.stringify(document));
    if (key === null) return refuseUnrecognized(`the whole answer is in ${out}; leave only the key there`, terminal);
    const rest = withoutKey(document, key);
    return service.answer({ ...rest, key_file: out }, () => {
      noteFacts(terminal, otherFacts(rest, apiKeyCreatedSchema));
      terminal.print(`${name} is in ${out}, which only you can read.`);
    });
  }
  if (key === null && flags.json !== true) {
    terminal.json(document);
    return refuseUnrecognized("take it from the answer above, which is shown only once", terminal);
  }
  return service.answer(document, () => {
    noteFacts(terminal, otherFacts(withoutKey(document, key ?? ""), apiKeyCreatedSchema));
    terminal.note(`${name}. It is shown only once:`);
    terminal.print(key ?? "");
  });
}

const namedSchema = z.looseObject({ id: z.string().optional().catch(undefined) }).catch({});

function refuseUnrecognized(fix: string, terminal: Terminal): ExitCode {
  const what = "the key is created, but which part of the answer it is cannot be told";
  return refuse({ code: "key-not-recognized", what, fix }, EXIT.failed, terminal);
}

function withoutKey(document: unknown, key: string): object {
  const holdsKey = (value: unknown) => typeof value === "string" && key !== "" && value.includes(key);
  const rest = JSON.stringify(document, (_name, value: unknown) => (holdsKey(value) ? undefined : value));
  return Object.assign({}, JSON.parse(rest ?? "{}"));
}

/** Revokes a key that could not be written. If that fails, shows the key, because it is stored nowhere else. */
async function giveUp(service: Service, id: string | null, unwritten: Problem, key: string): Promise<ExitCode> {
  const row = { ...operations.revokeApiKey, response: z.unknown() };
  const revoked = id === null ? null : await service.call(row, { parameters: { key_id: id } });
  if (revoked?.kind !== "ok") service.terminal.print(key);
  const next = revoked?.kind === "ok" ? "the new key was revoked again" : "it works, and is shown above, only once";
  return refuse({ ...unwritten, fix: `${unwritten.fix}; ${next}` }, EXIT.failed, service.terminal);
}

/** An id of our own service. */
const OUR_ID = /^key_[0-9a-z]{26}$/;

const KEY: Resource<ApiKeyView> = {
  noun: "key",
  list: "keys list",
  by: "id or label",
  load: listKeys,
  idOf: ({ id }) => id,
  // A revoked key has given its label up.
  namesOf: ({ label, revoked_at: revokedAt }) => [(revokedAt ?? null) === null ? label : null],
};

/** Asks for confirmation at a terminal. A script needs `--yes` to revoke its own key, or a key whose revocation also ends other keys. */
async function revokeKey(service: Service, name: string): Promise<ExitCode> {
  const { flags, terminal } = service;
  const revocationOf = (id: string) => ({ parameters: { key_id: id } });
  if (flags.dryRun === true && OUR_ID.test(name)) {
    return service.showRequest(operations.revokeApiKey, revocationOf(name));
  }
  const result = await listKeys(service);
  const keys = result.kind === "ok" ? itemsIn(result.value) : [];
  // The credential may revoke keys but not list them, or the service has members and ids of its own form: an id is enough.
  const mayNotList = result.kind === "refused" && (result.status === 403 || isUnknownOperation(result));
  const isId = result.kind !== "ok" && (documentOfFailure(result) !== undefined || (mayNotList && OUR_ID.test(name)));
  const found = isId ? { value: { id: name } } : await find(service, { ...KEY, load: async () => result }, name);
  if (typeof found === "number") return found;
  const key: ApiKeyView = found.value;
  const ending = keysEndingWith(key, keys, service.now().ms);
  const isRevoked = (key.revoked_at ?? null) !== null;
  if (flags.dryRun !== true && flags.yes !== true && !isRevoked) {
    const refused = await refusedRevocation(key, ending, service);
    if (refused !== null) return refused;
  }
  return makeChange(service, {
    // The document leaves the members of the answer open, and none is needed.
    row: { ...operations.revokeApiKey, response: z.unknown() },
    input: revocationOf(key.id),
    unknown: `no key has the id ${key.id}`,
    unknownFix: "robot-policy keys list shows all keys",
    show() {
      const others = keysInWords(ending.length);
      const text =
        isRevoked || ending.length === 0
          ? "is revoked: the next request with it is refused."
          : `is revoked, and so are ${others}: their next requests are refused.`;
      terminal.print(`The key ${name} ${text}`);
    },
  });
}

/** Null where the operator agrees, or is not asked. */
async function refusedRevocation(
  key: ApiKeyView,
  ending: readonly ApiKeyView[],
  service: Service,
): Promise<ExitCode | null> {
  const { terminal } = service;
  const ownUse = await ownUseOf([key, ...ending], service);
  const prompt = confirmationPrompt(service);
  const label = key.label ?? key.id;
  if (prompt === null) {
    if (ownUse !== null) {
      const what = `you use the key ${label} yourself: ${ownUse}`;
      const fix = `replace it instead: robot-policy api POST /v1/me/api-keys/${key.id}/rotate; or lock yourself out with --yes`;
      return refuse({ code: "own-key", what, fix }, EXIT.usage, terminal);
    }
    if (ending.length === 0) return null;
    const what = `revoking the key ${label} also ends ${keysInWords(ending.length)}`;
    const fix = "robot-policy keys list shows them; give --yes to revoke all of them";
    return refuse({ code: "keys-end-too", what, fix }, EXIT.usage, terminal);
  }
  const shown = shownKey(key);
  terminal.note(`This revokes the key ${label}${shown === "" ? "" : ` (${shown})`}${lastUse(key, service.now())}.`);
  terminal.note("Every request with it is refused from then on, and logins that were approved with it end.");
  if (ending.length > 0) {
    const labels = ending.slice(0, LABELS_SHOWN).map(({ label, id }) => label ?? id);
    const more = ending.length > LABELS_SHOWN ? ` and ${ending.length - LABELS_SHOWN} more` : "";
    const warning = terminal.style("warn", `It also ends ${keysInWords(ending.length)}`);
    terminal.note(`${warning}: ${labels.join(", ")}${more}.`);
  }
  if (ownUse !== null) {
    terminal.note(`${terminal.style("warn", "You use it yourself")}: ${ownUse}. You need another one afterwards.`);
  }
  return refusedBy(prompt, "It cannot be undone. Revoke it?", terminal);
}

const LABELS_SHOWN = 5;

function lastUse({ last_used_at: lastUsedAt }: ApiKeyView, now: Now): string {
  if (lastUsedAt === undefined) return "";
  return lastUsedAt === null ? ", never used" : `, last used ${timeAgo(lastUsedAt, now)}`;
}

/**
 * Whether revoking these keys locks the operator out: checks the credential of this command, and that of the context with the service's
 * address. Each may be one of the keys, or a login that was approved with one.
 *
 * @returns the credential for a sentence, such as `the login of context lab`; null where neither depends on these keys.
 */
async function ownUseOf(keys: readonly ApiKeyView[], service: Service): Promise<string | null> {
  const { chosen, context, flags } = service;
  if (await isUsedForRequests(keys, service)) return chosen.credential.name;
  if (chosen.context === null) return null;
  // This command may use another credential than the context, for example from the environment.
  const own = await chooseService({ context: chosen.context.name }, context);
  if (own.kind === "no-service" || own.credential.source === chosen.credential.source) return null;
  await using second = await openService(own, flags, context, service.summary);
  return (await isUsedForRequests(keys, second)) ? own.credential.name : null;
}

/** Whether the service is used with one of these keys, or with a login that was approved with one. */
async function isUsedForRequests(keys: readonly ApiKeyView[], service: Service): Promise<boolean> {
  const session = await service.call(beyondSpec.getSession, {});
  const id = session.kind === "ok" ? session.value.value.credential?.api_key_id : undefined;
  return id === undefined ? matchesShownParts(keys, service.chosen) : keys.some((key) => key.id === id);
}

/** For a service that does not identify the credential of a request: compares prefix and last characters, which a key list shows. */
async function matchesShownParts(keys: readonly ApiKeyView[], { loadCredential }: Service["chosen"]): Promise<boolean> {
  const loaded = await loadCredential();
  if (loaded.kind !== "credential") return false;
  const text = loaded.secret.reveal();
  return keys.some(({ key_prefix: keyPrefix, key_last4: keyLast4 }) => {
    if ((keyPrefix ?? "") === "" || (keyLast4 ?? "") === "") return false;
    return text.startsWith(keyPrefix ?? "") && text.endsWith(keyLast4 ?? "");
  });
}
