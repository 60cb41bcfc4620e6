import * as z from "zod";

import { beyondSpec, operations } from "../../api/api.ts";
import type { ApiKeyView } from "../../api/keys.ts";
import { keysEndingWith, keysInWords } from "../../api/words/key-lineage.ts";
import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import { confirmationPrompt, makeChange, refusedBy } from "../change.ts";
import type { OperatorCommand } from "../context.ts";
import { documentOfFailure, isUnknownOperation } from "../failure.ts";
import { itemsIn } from "../lists/listed.ts";
import { chooseService } from "../logins/choose-service.ts";
import { openService, withService } from "../operator.ts";
import { onlyOne, refuse, refusePathParameter } from "../refuse.ts";
import type { Service } from "../service.ts";
import { shownKey } from "./list.ts";
import { type Now, timeAgo } from "../times.ts";

/** An id of our own service. */
const OUR_ID = /^key_[0-9a-z]{26}$/;

/**
 * `keys revoke KEY`: by id, or by a label that only one key has. Asks for confirmation at a terminal. A script needs `--yes` to revoke its
 * own key, or a key whose revocation also ends other keys.
 */
export const keysRevoke: OperatorCommand = async (flags, context, name) => {
  const { terminal } = context;
  if (name === undefined || refusePathParameter(name, terminal)) return EXIT.usage;
  const revocationOf = (id: string) => ({ parameters: { key_id: id } });
  return withService(flags, context, async (service) => {
    if (flags.dryRun === true && OUR_ID.test(name)) {
      return service.showRequest(operations.revokeApiKey, revocationOf(name));
    }
    const found = await findKey(service, name);
    if (typeof found === "number") return found;
    const { key, keys } = found;
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
      missing: [`has no key with the id ${name}`, "robot-policy keys list shows the keys"],
      show() {
        if (isRevoked || ending.length === 0) {
          terminal.print(`The key ${name} is revoked: the next request with it is refused.`);
        } else {
          const others = keysInWords(ending.length);
          terminal.print(`The key ${name} is revoked, and so are ${others}: their next requests are refused.`);
        }
      },
    });
  });
};

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

interface FoundKey {
  readonly key: ApiKeyView;
  /** All keys that the service shows. */
  readonly keys: readonly ApiKeyView[];
}

/** Finds a key by id, or a valid key by label. @returns an exit code after reporting that there is none. */
async function findKey(service: Service, name: string): Promise<FoundKey | ExitCode> {
  const result = await service.listAll(operations.listApiKeys, ({ items }) => items);
  if (result.kind !== "ok") {
    // The credential may revoke keys but not list them: an id is enough for that.
    const mayNotList = result.kind === "refused" && (result.status === 403 || isUnknownOperation(result));
    // A service with other members has ids of its own form.
    const isId = documentOfFailure(result) !== undefined || (mayNotList && OUR_ID.test(name));
    return isId ? { key: { id: name }, keys: [] } : service.failed(result);
  }
  const keys = itemsIn(result.value);
  const isNamed = ({ label, revoked_at: revokedAt }: ApiKeyView) => label === name && (revokedAt ?? null) === null;
  const words = {
    none: `no valid key has the id or label ${name}`,
    fix: "robot-policy keys list shows all keys",
    several: `keys are labelled ${name}`,
  };
  const own = keys.find(({ id }) => id === name);
  const key = own ?? onlyOne(keys.filter(isNamed), ({ id }) => id, words, service.terminal);
  return typeof key === "number" ? key : { key, keys };
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
  await using second = openService(own, flags, context);
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
