import { beyondSpec } from "../../api/api.ts";
import type { ApiKeyView } from "../../api/keys.ts";
import type { OperatorContext } from "../context.ts";
import { chooseService } from "../logins/choose-service.ts";
import { openService } from "../operator.ts";
import type { Service } from "../service.ts";

/**
 * What of the operator's own stops working with these keys: the credential of this command, or that of the context which has the
 * service's address. Both may be a key itself or a login that goes back to it.
 *
 * @returns the credential for a sentence, such as `the login of context lab`; null where neither is.
 */
export async function ownUseOf(
  keys: readonly ApiKeyView[],
  service: Service,
  context: OperatorContext,
): Promise<string | null> {
  const { chosen } = service;
  if (await isWhatWorks(keys, service)) return chosen.credential.name;
  if (chosen.context === null) return null;
  // Another credential may be stronger than that of the context for now, a variable for example.
  const own = await chooseService({ context: chosen.context.name }, context);
  if (own.kind === "no-service" || own.credential.source === chosen.credential.source) return null;
  await using second = openService(own, context);
  return (await isWhatWorks(keys, second)) ? own.credential.name : null;
}

/** Whether requests to the service are sent with one of these keys, or with a login that goes back to it. */
async function isWhatWorks(keys: readonly ApiKeyView[], service: Service): Promise<boolean> {
  const session = await service.call(beyondSpec.getSession, {});
  const id = session.kind === "ok" ? session.value.value.credential?.api_key_id : undefined;
  return id === undefined ? looksLike(keys, service.chosen) : keys.some((key) => key.id === id);
}

/** For a service that does not say whose credential it is asked with: by both ends, which is all that a list shows of a key. */
async function looksLike(keys: readonly ApiKeyView[], { loadCredential }: Service["chosen"]): Promise<boolean> {
  const loaded = await loadCredential();
  if (loaded.kind !== "credential") return false;
  const text = loaded.secret.reveal();
  return keys.some(({ key_prefix: keyPrefix, key_last4: keyLast4 }) => {
    if ((keyPrefix ?? "") === "" || (keyLast4 ?? "") === "") return false;
    return text.startsWith(keyPrefix ?? "") && text.endsWith(keyLast4 ?? "");
  });
}
