import { beyondSpec } from "../../api/api.ts";
import type { ApiKeyView } from "../../api/keys.ts";
import { chooseService } from "../logins/choose-service.ts";
import { openService } from "../operator.ts";
import type { Service } from "../service.ts";

/**
 * Whether revoking these keys locks the operator out: checks the credential of this command, and that of the context with the service's
 * address. Each may be one of the keys, or a login that was approved with one.
 *
 * @returns the credential for a sentence, such as `the login of context lab`; null where neither depends on these keys.
 */
export async function ownUseOf(keys: readonly ApiKeyView[], service: Service): Promise<string | null> {
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
