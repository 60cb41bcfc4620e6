import { operations } from "../../api/api.ts";
import type { ApiKeyView } from "../../api/api-keys.ts";
import { relativeTime } from "../../platform/relative-time.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { ConfirmFlags } from "../confirm.ts";
import { personToAsk, refusedBy } from "../confirm.ts";
import { isUnknownOperation } from "../failure.ts";
import { shownKey } from "../key-words.ts";
import { itemsIn } from "../listed.ts";
import type { OperatorContext, OperatorFlags } from "../operator.ts";
import { withService } from "../operator.ts";
import { ownUseOf } from "../own-key.ts";
import { refusePathParameter } from "../path-parameter.ts";
import type { Service } from "../service.ts";

export interface KeysRevokeFlags extends OperatorFlags, ConfirmFlags {
  readonly dryRun?: boolean;
}

/** Ids are opaque, but ours are known at sight. */
const OUR_ID = /^key_[0-9a-z]{26}$/;

/**
 * `keys revoke KEY`: by its id, or by its label where one key alone has it. A person is asked first. A script is not, but the key it
 * works with itself is revoked with `--yes` alone.
 */
export async function keysRevoke(
  flags: KeysRevokeFlags,
  context: OperatorContext,
  name: string | undefined,
): Promise<ExitCode> {
  const { terminal } = context;
  if (name === undefined || refusePathParameter(name, terminal)) return EXIT.usage;
  const revocationOf = (id: string) => ({ parameters: { key_id: id } });
  return withService(flags, context, async (service) => {
    if (flags.dryRun === true && OUR_ID.test(name))
      return service.showRequest(operations.revokeApiKey, revocationOf(name), flags.json === true);
    const key = await findKey(service, name, terminal);
    if (typeof key === "number") return key;
    const input = revocationOf(key.id);
    if (flags.dryRun === true) return service.showRequest(operations.revokeApiKey, input, flags.json === true);
    const isRevoked = (key.revoked_at ?? null) !== null;
    const refused = flags.yes === true || isRevoked ? null : await refusedByAnybody(key, service, flags, context);
    if (refused !== null) return refused;
    const result = await service.call(operations.revokeApiKey, input);
    if (result.kind !== "ok") return service.failed(result);
    if (flags.json === true) terminal.json(result.value.document);
    else terminal.print(`The key ${name} is revoked: the next request with it is refused.`);
    return EXIT.ok;
  });
}

/** Null where the key may be revoked. */
async function refusedByAnybody(
  key: ApiKeyView,
  service: Service,
  flags: KeysRevokeFlags,
  context: OperatorContext,
): Promise<ExitCode | null> {
  const { terminal, machine } = context;
  const ownUse = await ownUseOf(key, service, context);
  const person = personToAsk(flags, context);
  if (person === null) {
    if (ownUse === null) return null;
    const what = `you work with the key ${key.label ?? key.id} yourself: ${ownUse}`;
    const fix = "create another one first: robot-policy keys create LABEL; or lock yourself out with --yes";
    terminal.problem({ code: "own-key", what, fix });
    return EXIT.usage;
  }
  const shown = shownKey(key);
  const name = `the key ${key.label ?? key.id}${shown === "" ? "" : ` (${shown})`}`;
  terminal.note(`This revokes ${name}${lastUse(key, machine.clock.wall_ms())}.`);
  terminal.note("Every request with it is refused from then on, and logins that were approved with it end.");
  if (ownUse !== null) {
    terminal.note(
      `${terminal.style("warn", "You work with it yourself")}: ${ownUse}. You need another one afterwards.`,
    );
  }
  return refusedBy(person, "It cannot be undone. Revoke it?", terminal);
}

function lastUse({ last_used_at }: ApiKeyView, nowMs: number): string {
  if (last_used_at === undefined) return "";
  return last_used_at === null ? ", never used" : `, last used ${relativeTime(last_used_at, nowMs)}`;
}

/** The key of this id, or the one that works and has this label; an exit code where there is none, which was told. */
async function findKey(service: Service, name: string, terminal: Terminal): Promise<ApiKeyView | ExitCode> {
  const result = await service.listAll(operations.listApiKeys, ({ items }) => items);
  if (result.kind !== "ok") {
    // A key that may revoke, but not list, knows what it revokes by its id.
    const mayNotList = result.kind === "refused" && (result.status === 403 || isUnknownOperation(result));
    return mayNotList && OUR_ID.test(name) ? { id: name } : service.failed(result);
  }
  const keys = itemsIn(result.value);
  const own = keys.find(({ id }) => id === name);
  if (own !== undefined) return own;
  const [first, ...more] = keys.filter(({ label, revoked_at }) => label === name && (revoked_at ?? null) === null);
  if (first === undefined) {
    const fix = "robot-policy keys list shows what there is";
    terminal.problem({ code: "not-found", what: `no key that works has the id or label ${name}`, fix });
    return EXIT.rejected;
  }
  if (more.length === 0) return first;
  const ids = [first, ...more].map(({ id }) => id).join(", ");
  terminal.problem({
    code: "ambiguous",
    what: `${more.length + 1} keys are labelled ${name}`,
    fix: `name one by its id: ${ids}`,
  });
  return EXIT.usage;
}
