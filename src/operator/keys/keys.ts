import { operations } from "../../api/api.ts";
import type { ApiKeyView } from "../../api/keys.ts";
import { API_KEY_SCOPES } from "../../api/wire/scopes.ts";
import { makerInWords } from "../../api/words/key-lineage.ts";
import { keyRobotsInWords } from "../../api/words/key-robots.ts";
import type { CallResult } from "../../client/call-result.ts";
import { nearest } from "../../manifest/nearest.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import { relativeTime } from "../../platform/text/relative-time.ts";
import type { OperatorContext, OperatorFlags } from "../context.ts";
import { flagPlaces } from "../files/places.ts";
import type { ListView } from "../lists/columns.ts";
import type { ListFlags } from "../lists/flags.ts";
import type { Listed } from "../lists/listed.ts";
import { itemsIn } from "../lists/listed.ts";
import { showList } from "../lists/show-list.ts";
import { readMoment } from "../moments.ts";
import { withService } from "../operator.ts";
import type { Service } from "../service.ts";
import { keyFileProblem, writeKeyFile } from "./file.ts";
import { shownKey } from "./words.ts";

/** A key, with the name of the key that created it. */
type ListedKey = ApiKeyView & { readonly maker: string };

const keysView: ListView<ListedKey> = {
  headers: ["label", "key", "scopes", "created", "last used", "state", "made with", "id"],
  prose: ["label", "scopes", "made with"],
  spare: ["last used", "created", "made with", "id"],
  row: (key, nowMs) => [
    key.label ?? "",
    shownKey(key),
    // Null means all scopes; undefined means that the service does not show scopes.
    `${key.scopes === null ? "everything" : (key.scopes?.join(" ") ?? "")}${keyRobotsInWords(key)}`,
    relativeTime(key.created_at, nowMs),
    key.last_used_at === null ? "never" : relativeTime(key.last_used_at, nowMs),
    stateOf(key, nowMs),
    key.maker,
    key.id,
  ],
  id: ({ id }) => id,
  empty: "There are no API keys.",
};

function stateOf({ revoked_at: revokedAt, expires_at: expiresAt }: ApiKeyView, nowMs: number): string {
  if ((revokedAt ?? null) !== null) return `revoked ${relativeTime(revokedAt, nowMs)}`;
  if ((expiresAt ?? null) === null) return revokedAt === undefined ? "" : "works";
  const isPast = Date.parse(expiresAt ?? "") <= nowMs;
  return `${isPast ? "expired" : "expires"} ${relativeTime(expiresAt, nowMs)}`;
}

/** `keys list`: every API key of the organization, without the secrets. */
export async function keysList(flags: ListFlags, context: OperatorContext): Promise<ExitCode> {
  return withService(flags, context, (service) => {
    const load = async () => withMakers(await service.listAll(operations.listApiKeys, ({ items }) => items));
    return showList(service, load, keysView, flags, context);
  });
}

function withMakers(result: CallResult<Listed<ApiKeyView>>): CallResult<Listed<ListedKey>> {
  if (result.kind !== "ok") return result;
  const keys = new Map(itemsIn(result.value).map((key) => [key.id, key]));
  const records = result.value.records.map(({ item, document }) => ({
    item: { ...item, maker: makerInWords(item, keys) },
    document,
  }));
  return { ...result, value: { ...result.value, records } };
}

export interface KeysCreateFlags extends OperatorFlags {
  readonly scope?: readonly string[];
  readonly expires?: string;
  readonly robot?: readonly string[];
  readonly maxRobots?: string;
  readonly independent?: boolean;
  readonly out?: string;
  readonly dryRun?: boolean;
}

const CREATE_PLACES = flagPlaces({
  label: "LABEL",
  scopes: "--scope",
  expires_at: "--expires",
  independent: "--independent",
  robots: "--robot",
  max_robots: "--max-robots",
});

/** `keys create`: creates a key, and prints it once, or writes it to a new file without printing it. */
export async function keysCreate(
  flags: KeysCreateFlags,
  context: OperatorContext,
  label: string | undefined,
): Promise<ExitCode> {
  const { terminal, machine } = context;
  if (label === undefined || label.trim() === "") {
    // The service accepts an empty label, but nobody could tell later what the key is for.
    terminal.problem({
      code: "usage",
      what: "the LABEL is empty",
      fix: "say what the key is for: keys create 'cell 4'",
    });
    return EXIT.usage;
  }
  const strange = (flags.scope ?? []).find((scope) => !API_KEY_SCOPES.some((each) => each === scope));
  if (strange !== undefined) {
    const meant = nearest(strange, API_KEY_SCOPES);
    const fix = meant === undefined ? `it is one of ${API_KEY_SCOPES.join(", ")}` : `did you mean ${meant}?`;
    terminal.problem({ code: "usage", what: `--scope '${strange}' is not a scope`, fix });
    return EXIT.usage;
  }
  const expiresAt = flags.expires === undefined ? null : readMoment(flags.expires, "ahead", machine.clock.wallMs());
  if (expiresAt?.kind === "no-moment") {
    terminal.problem({ code: "usage", what: `--expires ${expiresAt.what}`, fix: expiresAt.fix });
    return EXIT.usage;
  }
  const { maxRobots } = flags;
  if (maxRobots !== undefined && !/^[1-9]\d{0,8}$/.test(maxRobots)) {
    const what = `--max-robots '${maxRobots}' is not a number of robots`;
    terminal.problem({ code: "usage", what, fix: "write for example --max-robots 20" });
    return EXIT.usage;
  }
  const body = {
    label,
    ...(flags.scope === undefined ? {} : { scopes: flags.scope }),
    ...(expiresAt === null ? {} : { expires_at: expiresAt.iso }),
    ...(flags.independent === true ? { independent: true } : {}),
    ...(flags.robot === undefined ? {} : { robots: flags.robot }),
    ...(maxRobots === undefined ? {} : { max_robots: Number(maxRobots) }),
  };
  return withService(flags, context, async (service) => {
    if (flags.dryRun === true) return service.showRequest(operations.createApiKey, { body }, flags.json === true);
    // Before the key is created: a key that cannot be written would be lost.
    const obstacle = flags.out === undefined ? null : await keyFileProblem(flags.out, machine.files);
    if (obstacle !== null) {
      terminal.problem(obstacle);
      return EXIT.failed;
    }
    const result = await service.call(operations.createApiKey, { body });
    if (result.kind !== "ok") return service.failed(result, { body, places: CREATE_PLACES });
    const { value: key, document } = result.value;
    if (flags.out !== undefined) {
      const unwritten = await writeKeyFile(flags.out, key.api_key, machine.files);
      if (unwritten !== null) return revokeUnwrittenKey(service, key, unwritten, terminal);
    }
    showCreated(key, document, flags, terminal);
    return EXIT.ok;
  });
}

interface CreatedKey extends ApiKeyView {
  readonly api_key: string;
}

function showCreated(key: CreatedKey, document: unknown, flags: KeysCreateFlags, terminal: Terminal): void {
  const { out, json } = flags;
  if (json === true) {
    terminal.json(out === undefined ? document : { ...withoutKey(document), key_file: out });
    return;
  }
  if (out === undefined) {
    terminal.note(`The key ${key.label ?? key.id} (${key.id}). It is shown only once:`);
    terminal.print(key.api_key);
  } else {
    terminal.print(`The key ${key.label ?? key.id} (${key.id}) is in ${out}, which only you can read.`);
  }
}

function withoutKey(document: unknown): object {
  if (typeof document !== "object" || document === null) return {};
  return Object.fromEntries(Object.entries(document).filter(([name]) => name !== "api_key"));
}

/** Revokes a key that was created but could not be written. */
async function revokeUnwrittenKey(
  service: Service,
  { id }: ApiKeyView,
  unwritten: { readonly code: string; readonly what: string; readonly fix: string },
  terminal: Terminal,
): Promise<ExitCode> {
  const revoked = await service.call(operations.revokeApiKey, { parameters: { key_id: id } });
  const fate = revoked.kind === "ok" ? "the new key was revoked again" : `robot-policy keys revoke ${id}`;
  terminal.problem({ ...unwritten, fix: `${unwritten.fix}; ${fate}` });
  return EXIT.failed;
}
