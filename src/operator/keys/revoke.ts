import { operations } from "../../api/api.ts";
import type { ApiKeyView } from "../../api/keys.ts";
import { keysEndingWith, keysInWords } from "../../api/words/key-lineage.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import { relativeTime } from "../../platform/text/relative-time.ts";
import { confirmationPrompt, refusedBy } from "../confirm.ts";
import type { OperatorContext } from "../context.ts";
import { isUnknownOperation } from "../failure.ts";
import type { OperatorFlags } from "../flags.ts";
import { itemsIn } from "../lists/listed.ts";
import { withService } from "../operator.ts";
import { refuse, refuseAmbiguous, refusePathParameter, refuseUnknown } from "../refuse.ts";
import type { Service } from "../service.ts";
import { ownUseOf } from "./own-key.ts";
import { shownKey } from "./words.ts";

/** An id of our own service. */
const OUR_ID = /^key_[0-9a-z]{26}$/;

/**
 * `keys revoke KEY`: by id, or by a label that only one key has. Asks for confirmation at a terminal. A script needs `--yes` to revoke its
 * own key, or a key whose revocation also ends other keys.
 */
export async function keysRevoke(
  flags: OperatorFlags,
  context: OperatorContext,
  name: string | undefined,
): Promise<ExitCode> {
  const { terminal } = context;
  if (name === undefined || refusePathParameter(name, terminal)) return EXIT.usage;
  const revocationOf = (id: string) => ({ parameters: { key_id: id } });
  return withService(flags, context, async (service) => {
    if (flags.dryRun === true && OUR_ID.test(name))
      return service.showRequest(operations.revokeApiKey, revocationOf(name), flags.json === true);
    const found = await findKey(service, name, terminal);
    if (typeof found === "number") return found;
    const { key, keys } = found;
    const ending = keysEndingWith(key, keys, context.machine.clock.wallMs());
    const input = revocationOf(key.id);
    if (flags.dryRun === true) return service.showRequest(operations.revokeApiKey, input, flags.json === true);
    const isRevoked = (key.revoked_at ?? null) !== null;
    const refused =
      flags.yes === true || isRevoked ? null : await refusedRevocation(key, ending, service, flags, context);
    if (refused !== null) return refused;
    const result = await service.call(operations.revokeApiKey, input);
    if (result.kind !== "ok") return service.failed(result);
    if (flags.json === true) terminal.json(result.value.document);
    else if (isRevoked || ending.length === 0)
      terminal.print(`The key ${name} is revoked: the next request with it is refused.`);
    else
      terminal.print(
        `The key ${name} is revoked, and so are ${keysInWords(ending.length)}: their next requests are refused.`,
      );
    return EXIT.ok;
  });
}

/** Null where the operator agrees, or is not asked. */
async function refusedRevocation(
  key: ApiKeyView,
  ending: readonly ApiKeyView[],
  service: Service,
  flags: OperatorFlags,
  context: OperatorContext,
): Promise<ExitCode | null> {
  const { terminal, machine } = context;
  const ownUse = await ownUseOf([key, ...ending], service, context);
  const prompt = confirmationPrompt(flags, context);
  if (prompt === null) {
    if (ownUse !== null) {
      const what = `you use the key ${key.label ?? key.id} yourself: ${ownUse}`;
      const fix =
        "create another one first: robot-policy keys create LABEL --independent; or lock yourself out with --yes";
      return refuse({ code: "own-key", what, fix }, EXIT.usage, terminal);
    }
    if (ending.length === 0) return null;
    const what = `revoking the key ${key.label ?? key.id} also ends ${keysInWords(ending.length)}`;
    const fix = "robot-policy keys list shows them; give --yes to revoke all of them";
    return refuse({ code: "keys-end-too", what, fix }, EXIT.usage, terminal);
  }
  const shown = shownKey(key);
  const name = `the key ${key.label ?? key.id}${shown === "" ? "" : ` (${shown})`}`;
  terminal.note(`This revokes ${name}${lastUse(key, machine.clock.wallMs())}.`);
  terminal.note("Every request with it is refused from then on, and logins that were approved with it end.");
  if (ending.length > 0) {
    const labels = ending.slice(0, LABELS_SHOWN).map(({ label, id }) => label ?? id);
    const more = ending.length > LABELS_SHOWN ? ` and ${ending.length - LABELS_SHOWN} more` : "";
    terminal.note(
      `${terminal.style("warn", `It also ends ${keysInWords(ending.length)}`)}: ${labels.join(", ")}${more}.`,
    );
  }
  if (ownUse !== null) {
    terminal.note(`${terminal.style("warn", "You use it yourself")}: ${ownUse}. You need another one afterwards.`);
  }
  return refusedBy(prompt, "It cannot be undone. Revoke it?", terminal);
}

const LABELS_SHOWN = 5;

function lastUse({ last_used_at: lastUsedAt }: ApiKeyView, nowMs: number): string {
  if (lastUsedAt === undefined) return "";
  return lastUsedAt === null ? ", never used" : `, last used ${relativeTime(lastUsedAt, nowMs)}`;
}

interface FoundKey {
  readonly key: ApiKeyView;
  /** All keys that the service shows. */
  readonly keys: readonly ApiKeyView[];
}

/** Finds a key by id, or a valid key by label. @returns an exit code after reporting that there is none. */
async function findKey(service: Service, name: string, terminal: Terminal): Promise<FoundKey | ExitCode> {
  const result = await service.listAll(operations.listApiKeys, ({ items }) => items);
  if (result.kind !== "ok") {
    // The credential may revoke keys but not list them: an id is enough for that.
    const mayNotList = result.kind === "refused" && (result.status === 403 || isUnknownOperation(result));
    return mayNotList && OUR_ID.test(name) ? { key: { id: name }, keys: [] } : service.failed(result);
  }
  const keys = itemsIn(result.value);
  const own = keys.find(({ id }) => id === name);
  if (own !== undefined) return { key: own, keys };
  const [first, ...more] = keys.filter(
    ({ label, revoked_at: revokedAt }) => label === name && (revokedAt ?? null) === null,
  );
  if (first === undefined) {
    const fix = "robot-policy keys list shows all keys";
    return refuseUnknown(`no valid key has the id or label ${name}`, fix, terminal);
  }
  if (more.length === 0) return { key: first, keys };
  const ids = [first, ...more].map(({ id }) => id);
  return refuseAmbiguous(`${ids.length} keys are labelled ${name}`, ids, terminal);
}
