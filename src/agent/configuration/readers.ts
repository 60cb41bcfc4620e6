/** Forms of the values of the agent's configuration, each with the code and the sentence of its finding. */
import * as z from "zod";

import { REGION_EXPECTED, REGION_FORM } from "../../api/robot-texts.ts";
import { DIRECT, parseProxy } from "../../client/transport/proxy.ts";
import { isText, normalText, OF_MAPPING, refuse, text } from "../../documents/schemas.ts";
import { holdsCredentials, isSecretKey } from "../../documents/secrets.ts";
import { codePoints, shown } from "../../documents/texts.ts";

const LABEL_LIMIT = 32;
const LABEL_KEY_LIMIT = 64;
const LABEL_VALUE_LIMIT = 256;
/** Spec section 8, in code points. */
export const NAME_LIMIT = 64;
export const REGION_LIMIT = 256;

/** The minimum length of a placeholder's value. */
const PLACEHOLDER_LENGTHS: ReadonlyMap<string, number> = new Map([
  ["{hostname}", 1],
  ["{machine_id}", 12],
]);

/** An http(s) address, with user name and password if the proxy requires them, or `none`. */
export const proxyAddress = z
  .string()
  .overwrite((written) => written.trim())
  .superRefine((written, ctx) => {
    // Do not repeat the address, which may contain a password.
    if (written === DIRECT || (written !== "" && parseProxy(written).kind === "proxy")) return;
    refuse(ctx, { id: "url_format", message: "expected the address of a proxy, http://HOST:PORT, or none" });
  })
  .meta({ minLength: 1 });

/** A text that is registered, where every operator can read it. Refuses an address with a password. */
export function registeredText(maximum: number, minimum = 1) {
  return text(maximum, minimum).superRefine((written, ctx) => {
    if (!holdsCredentials(written)) return;
    const message = "this address contains a user name or password, and this value is registered; remove them";
    refuse(ctx, { id: "secret_in_configuration", message });
  });
}

/** The code of a cloud region. The finding does not repeat the value, which may be a pasted address with a password. */
export const region = text(REGION_LIMIT)
  .superRefine((written, ctx) => {
    if (!isText(written, 1, REGION_LIMIT) || REGION_FORM.test(written)) return;
    refuse(ctx, { id: "region_format", message: `expected ${REGION_EXPECTED}` });
  })
  .meta({ minLength: 1, maxLength: REGION_LIMIT, pattern: REGION_FORM.source });

/** Enough for every template whose name can be within the limit. */
const LONGEST_TEMPLATE = NAME_LIMIT * "{hostname}".length;

/** The name of the robot with placeholders for what differs between robots. */
export const nameTemplate = registeredText(LONGEST_TEMPLATE)
  .superRefine((template, ctx) => {
    if (!isText(template, 1, LONGEST_TEMPLATE) || holdsCredentials(template)) return;
    const placeholders = [...template.matchAll(/\{[^{}]*\}?|\}/g)].map(([placeholder]) => placeholder);
    const unknown = placeholders.find((placeholder) => !PLACEHOLDER_LENGTHS.has(placeholder));
    if (unknown !== undefined) {
      const message = `${shown(unknown)} is no placeholder; use {hostname} or {machine_id}`;
      refuse(ctx, { id: "name_template", message });
      return;
    }
    const added = placeholders.map((each) => (PLACEHOLDER_LENGTHS.get(each) ?? 0) - each.length);
    const shortest = added.reduce((sum, length) => sum + length, codePoints(template));
    if (shortest <= NAME_LIMIT) return;
    const message = `the name has ${shortest} characters or more; the service takes 1 to ${NAME_LIMIT}`;
    refuse(ctx, { id: "name_length", message });
  })
  .meta({ minLength: 1, maxLength: LONGEST_TEMPLATE, pattern: "^(?:[^{}]|\\{hostname\\}|\\{machine_id\\})*$" });

/** Here names that start with `x-` are labels too. */
export const labels = z
  .record(z.string(), registeredText(LABEL_VALUE_LIMIT, 0))
  .superRefine((written, ctx) => {
    const names = Object.keys(written);
    if (names.length > LABEL_LIMIT) {
      const message = `expected 0 to ${LABEL_LIMIT} labels, found ${names.length}`;
      refuse(ctx, { id: "list_length", message });
      return;
    }
    const seen = new Set<string>();
    for (const key of names) {
      const name = normalText(key, LABEL_KEY_LIMIT);
      if (!isSecretKey(key) && !isText(name, 1, LABEL_KEY_LIMIT)) {
        const message = `expected a label name of 1 to ${LABEL_KEY_LIMIT} printable characters`;
        refuse(ctx, { id: "text_format", message, path: [key], isKey: true });
      } else if (seen.has(name)) {
        const message = `label ${shown(name)} is already set`;
        refuse(ctx, { id: "duplicate_name", message, path: [key], isKey: true });
      }
      seen.add(name);
    }
  }, OF_MAPPING)
  .meta({ maxProperties: LABEL_LIMIT, propertyNames: { minLength: 1, maxLength: LABEL_KEY_LIMIT } })
  .transform((written): Readonly<Record<string, string>> =>
    Object.fromEntries(Object.entries(written).map(([key, value]) => [normalText(key, LABEL_KEY_LIMIT), value])),
  );
