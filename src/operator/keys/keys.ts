import * as z from "zod";

import { beyondSpec, operations } from "../../api/api.ts";
import { type ApiKeyView, apiKeyViewSchema, ENROLLMENT_USES, ROTATION_OVERLAP_S } from "../../api/keys.ts";
import { ENROLL_SCOPE, GENERAL_SCOPES } from "../../api/wire/scopes.ts";
import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import {
  hasEnded,
  keyItemAmong,
  KEYS,
  keysEndingWith,
  keysInWords,
  keyText,
  labelOf,
  revocationEnds,
  ROTATED,
  USUAL_DAYS,
  usualEnd,
} from "../../views/keys.ts";
import { bodyOf, flagPlaces } from "../body.ts";
import { confirmationPrompt, makeChange, refusedBy } from "../change.ts";
import { command, type OperatorRow } from "../command.ts";
import { documentOfFailure, isUnknownOperation, refuseNotOffered } from "../failure.ts";
import { find, type Resource } from "../find.ts";
import {
  CHANGE,
  DRY_RUN,
  formed,
  type Given,
  labels,
  LIST,
  onOff,
  readDuration,
  text,
  wholeNumber,
  wordsOf,
} from "../flags.ts";
import { itemsIn, mapListed } from "../lists/listed.ts";
import { showList } from "../lists/show-list.ts";
import { tableOf } from "../lists/shown.ts";
import { refuse, refuseUsage } from "../refuse.ts";
import { warnOfRegion } from "../robots/registration.ts";
import type { Service } from "../service.ts";
import { type Now, readTimeFlag, timeAgo, timeUntil } from "../times.ts";
import { issueKey, unconfirmedFlags } from "./new-key.ts";

const OUT = { out: text("<file>", "write the key to this new file, which only you can read, and do not print it") };

const CREATE = {
  scope: wordsOf("<scope>", `what it may do, repeatable: ${GENERAL_SCOPES.join(", ")}`, GENERAL_SCOPES, "a scope", {
    place: "scopes",
  }),
  everything: onOff("it may do everything", { excludes: ["--scope", "--enroll"] }),
  expires: text(
    "<when>",
    `when it expires: 2030-01-31 (UTC), 2030-01-31T08:00:00Z, or 30d, 12h from now (default: ${USUAL_DAYS}d; a key that may only register robots does not)`,
    { place: "expires_at" },
  ),
  expiry: onOff("it never expires", { negated: true, excludes: ["--expires", "--enroll"] }),
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
  ...OUT,
  ...DRY_RUN,
};

const ROTATE_SUMMARY = "replace an API key by a new one with the same scopes; the old one ends after the overlap";
const ROTATE = {
  ...OUT,
  overlap: formed("<time>", "how long the old key still works: 0, 90s, 2h, 24h (default: 24h)", readDuration),
  ...CHANGE,
};

/** API keys. */
export const keyCommands: readonly OperatorRow[] = [
  command({
    name: "keys create",
    summary: "create an API key, and print it once or write it to a new file",
    argument: "LABEL",
    flags: CREATE,
    examples: [
      "robot-policy keys create 'cell 4' --scope robots:setup --out ./api-key",
      "robot-policy keys create dashboard --scope robots:read --scope fleets:read --expires 30d",
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
      const view = { ...tableOf(KEYS), schema: apiKeyViewSchema };
      if (result.kind !== "ok") return showList(service, result, view);
      const toItem = keyItemAmong(itemsIn(result.value), service.now().ms);
      return showList(service, { ...result, value: mapListed(result.value, toItem) }, view);
    },
  }),
  command({
    name: "keys rotate",
    summary: ROTATE_SUMMARY,
    argument: "KEY",
    flags: ROTATE,
    examples: [
      "robot-policy keys rotate 'cell 4' --out ./api-key",
      "robot-policy keys rotate dashboard --out ./api-key --overlap 2h",
    ],
    run: rotateKey,
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
  if (enroll !== true && flags.everything !== true && flags.scope === undefined) {
    const fix = "give --scope robots:setup for a robot, other scopes (keys create --help), or --everything";
    return refuseUsage("what the key may do is missing", fix, terminal);
  }
  const scopes = enroll === true ? [ENROLL_SCOPE] : flags.scope;
  const given = expires === undefined ? undefined : readTimeFlag("--expires", expires, context);
  if (given === null) return EXIT.usage;
  const usual = flags.expiry === false ? null : usualEnd(scopes ?? null, service.now().ms);
  const expiresAt = given?.iso ?? usual ?? undefined;
  const body = {
    label,
    ...bodyOf(CREATE, { ...flags, expires: expiresAt }),
    ...(scopes === undefined ? {} : { scopes }),
  };
  if (flags.dryRun === true) return service.showRequest(operations.createApiKey, { body });
  if (flags.region !== undefined) await warnOfRegion(service, flags.region, terminal);
  const issued = await issueKey(service, {
    row: operations.createApiKey,
    input: { body },
    places: flagPlaces(CREATE, { label: "LABEL", enrollment: "--enroll" }),
    label,
    out,
  });
  if (typeof issued === "number") return issued;
  if (given === undefined && usual !== null) {
    terminal.note(`It expires ${timeUntil(usual, service.now())}; --expires sets another time, --no-expiry none.`);
  }
  const unconfirmed = unconfirmedFlags({ scopes, expires_at: expiresAt, uses }, issued.document);
  if (unconfirmed !== "") {
    terminal.warning(`the answer does not confirm ${unconfirmed}.`);
    terminal.note("  What the key may do, and until when: robot-policy keys list.");
  }
  return issued.exitCode;
}

/** An id of our own service. */
const OUR_ID = /^key_[0-9a-z]{26}$/;

/** How a key is found. One that has ended has given its label up, for example to the one that replaced it. */
function keyResource(nowMs: number): Resource<ApiKeyView> {
  return {
    noun: "key",
    list: "keys list",
    by: "id or label",
    load: listKeys,
    idOf: ({ id }) => id,
    namesOf: (key) => [hasEnded(key, nowMs) ? null : key.label],
  };
}

/** Replaces a key by a new one, which is printed once, or written to a new file without printing it. */
async function rotateKey(service: Service, flags: Given<typeof ROTATE>, name: string): Promise<ExitCode> {
  const { terminal } = service;
  const { overlap: overlapMs = ROTATION_OVERLAP_S.usual * 1000 } = flags;
  const result = await listKeys(service);
  // A service whose keys have other members than ours has no such operation, either.
  if (result.kind !== "ok" && documentOfFailure(result) !== undefined)
    return refuseNotOffered(ROTATE_SUMMARY, terminal);
  const found = await find(service, { ...keyResource(service.now().ms), load: async () => result }, name);
  if (typeof found === "number") return found;
  const key = found.value;
  const input = { parameters: { key_id: key.id }, body: { overlap_s: overlapMs / 1000 } };
  if (flags.dryRun === true) return service.showRequest(beyondSpec.rotateApiKey, input);
  const prompt = confirmationPrompt(service);
  if (prompt !== null) {
    terminal.note(`This replaces the key ${describe(key, service.now())}. ${ROTATED}`);
    const refused = await refusedBy(prompt, "Replace it?", terminal);
    if (refused !== null) return refused;
  }
  const issued = await issueKey(service, {
    row: beyondSpec.rotateApiKey,
    input,
    places: flagPlaces({}, { overlap_s: "--overlap" }),
    label: labelOf(key),
    out: flags.out,
  });
  if (typeof issued === "number") return issued;
  const rotated = beyondSpec.rotateApiKey.response.safeParse(issued.document);
  if (rotated.success) {
    const until = timeUntil(rotated.data.former_expires_at, service.now());
    terminal.note(overlapMs === 0 ? "The former key has ended." : `The former key ends ${until}: replace it before.`);
  }
  return issued.exitCode;
}

/** `cell 4 (sk_rps_…a1B2), last used 3 min ago`. */
function describe(key: ApiKeyView, now: Now): string {
  const { last_used_at: lastUsedAt } = key;
  const parts = keyText(key) === "" ? "" : ` (${keyText(key)})`;
  const use = lastUsedAt === null ? ", never used" : `, last used ${timeAgo(lastUsedAt, now)}`;
  return `${labelOf(key)}${parts}${lastUsedAt === undefined ? "" : use}`;
}

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
  const nowMs = service.now().ms;
  const resource = { ...keyResource(nowMs), load: async () => result };
  const found = isId ? { value: { id: name } } : await find(service, resource, name);
  if (typeof found === "number") return found;
  const key: ApiKeyView = found.value;
  const ending = keysEndingWith(key, keys, nowMs);
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
  const isInUse = await isOwn([key, ...ending], service);
  const use = service.chosen.credential.name;
  const prompt = confirmationPrompt(service);
  const label = key.label ?? key.id;
  if (prompt === null) {
    if (isInUse) {
      const what = `you use the key ${label} yourself: ${use}`;
      const fix = `replace it instead: robot-policy keys rotate ${key.id} --out FILE; or lock yourself out with --yes`;
      return refuse({ code: "own-key", what, fix }, EXIT.usage, terminal);
    }
    if (ending.length === 0) return null;
    const what = `revoking the key ${label} also ends ${keysInWords(ending.length)}`;
    const fix = "robot-policy keys list shows them; give --yes to revoke all of them";
    return refuse({ code: "keys-end-too", what, fix }, EXIT.usage, terminal);
  }
  terminal.note(`This revokes the key ${describe(key, service.now())}.`);
  for (const consequence of revocationEnds(key, ending)) terminal.note(consequence);
  if (isInUse) {
    terminal.note(`${terminal.style("warn", "You use it yourself")}: ${use}. You need another one afterwards.`);
  }
  return refusedBy(prompt, "Revoke it?", terminal);
}

/**
 * Whether revoking these keys locks the operator out: the service is used with one of them, or with a login that was approved with one. Where
 * the service does not say which credential a request has, that stays unknown.
 */
async function isOwn(keys: readonly ApiKeyView[], service: Service): Promise<boolean> {
  const session = await service.call(beyondSpec.getSession, {});
  const id = session.kind === "ok" ? session.value.value.credential?.api_key_id : undefined;
  return keys.some((key) => key.id === id);
}
