import { DIRECT, parseProxy } from "../../client/transport/proxy.ts";
import { isLoopback, parseServiceUrl } from "../../client/transport/service-url.ts";
import { codePoints } from "../../documents/code-points.ts";
import { described, fail, read, type Reader, reportSecret, wrongType } from "../../documents/fields.ts";
import { below } from "../../documents/pointer.ts";
import { isText, normalText, string, text } from "../../documents/readers.ts";
import { holdsCredentials, REGION_EXPECTED, REGION_FORM } from "../../documents/registered-text.ts";
import { isSecretKey } from "../../documents/secrets.ts";
import { shown } from "../../documents/shown.ts";

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

/** The base address of the service, without a slash at its end. */
export function serviceUrl(allowInsecure: boolean): Reader<string> {
  return described({ type: "string", pattern: "^https?://[^/?#@]+(?:/[^?#]*)?$" }, (place) => {
    const written = string(place);
    if (written === undefined) return undefined;
    const parsed = parseServiceUrl(written.trim(), allowInsecure);
    switch (parsed.kind) {
      case "url-problem":
        return fail(place, urlFindingId(parsed.code), `${parsed.what}; ${parsed.fix}`);
      case "url": {
        const { url } = parsed;
        if (url.protocol === "http:" && !isLoopback(url.hostname)) {
          const message = "allow_insecure sends the API key unencrypted: anyone on the network path can read it";
          place.check.findings.warning("unencrypted_service", place.path, place.node.offset, message);
        }
        return url.href.replace(/\/+$/, "");
      }
    }
  });
}

function urlFindingId(code: Extract<ReturnType<typeof parseServiceUrl>, { kind: "url-problem" }>["code"]): string {
  switch (code) {
    case "url-insecure":
      return "insecure_url";
    case "url-credentials":
      return "secret_in_configuration";
    case "url-invalid":
    case "url-scheme":
    case "url-query":
    case "url-versioned":
      return "url_format";
  }
}

/** An http(s) address, with user name and password if the proxy requires them, or `none`. */
export const proxyAddress: Reader<string> = described({ type: "string", minLength: 1 }, (place) => {
  const written = string(place)?.trim();
  if (written === undefined || written === DIRECT) return written;
  const parsed = parseProxy(written);
  // Do not repeat the address, which may contain a password.
  if (written !== "" && parsed.kind === "proxy") return written;
  return fail(place, "url_format", "expected the address of a proxy, http://HOST:PORT, or none");
});

/** A text that is registered, where every operator can read it. Refuses an address with a password. */
export function registeredText(maximum: number, minimum = 1): Reader<string> {
  const reader = text(maximum, minimum);
  return described(reader.schema ?? {}, (place) => {
    const written = reader(place);
    if (written === undefined || !holdsCredentials(written)) return written;
    const message = "this address contains a user name or password, and this value is registered; remove them";
    return fail(place, "secret_in_configuration", message);
  });
}

/** The code of a cloud region. The finding does not repeat the value, which may be a pasted address with a password. */
export const region: Reader<string> = described(
  { type: "string", minLength: 1, maxLength: REGION_LIMIT, pattern: REGION_FORM.source },
  (place) => {
    const written = text(REGION_LIMIT)(place);
    if (written === undefined || REGION_FORM.test(written)) return written;
    return fail(place, "region_format", `expected ${REGION_EXPECTED}`);
  },
);

/** Enough for every template whose name can be within the limit. */
const LONGEST_TEMPLATE = NAME_LIMIT * "{hostname}".length;
const NAME_SCHEMA = {
  type: "string",
  minLength: 1,
  maxLength: LONGEST_TEMPLATE,
  pattern: "^(?:[^{}]|\\{hostname\\}|\\{machine_id\\})*$",
};

/** The name of the robot with placeholders for what differs between robots. */
export const nameTemplate: Reader<string> = described(NAME_SCHEMA, (place) => {
  const template = registeredText(LONGEST_TEMPLATE)(place);
  if (template === undefined) return undefined;
  let shortest = codePoints(template);
  for (const [placeholder] of template.matchAll(/\{[^{}]*\}?|\}/g)) {
    const length = PLACEHOLDER_LENGTHS.get(placeholder);
    if (length === undefined) {
      return fail(place, "name_template", `${shown(placeholder)} is no placeholder; use {hostname} or {machine_id}`);
    }
    shortest += length - placeholder.length;
  }
  if (shortest <= NAME_LIMIT) return template;
  return fail(
    place,
    "name_length",
    `the name has ${shortest} characters or more; the service takes 1 to ${NAME_LIMIT}`,
  );
});

const LABELS_SCHEMA = {
  type: "object",
  maxProperties: LABEL_LIMIT,
  propertyNames: { minLength: 1, maxLength: LABEL_KEY_LIMIT },
  additionalProperties: { type: "string", maxLength: LABEL_VALUE_LIMIT },
};

/** Here names that start with `x-` are labels too. */
export const labels: Reader<Readonly<Record<string, string>>> = described(LABELS_SCHEMA, (place) => {
  const { node, path, check } = place;
  if (node.kind !== "mapping") {
    return wrongType(place, "a mapping of texts");
  }
  if (node.entries.length > LABEL_LIMIT) {
    return fail(place, "list_length", `expected 0 to ${LABEL_LIMIT} labels, found ${node.entries.length}`);
  }
  const values = new Map<string, string>();
  for (const entry of node.entries) {
    const label = { node: entry.value, path: below(path, entry.key), check };
    const name = normalText(entry.key, LABEL_KEY_LIMIT);
    if (isSecretKey(entry.key)) {
      reportSecret(check, label.path, entry.keyOffset, entry.key);
      continue;
    }
    if (!isText(name, 1, LABEL_KEY_LIMIT)) {
      const message = `expected a label name of 1 to ${LABEL_KEY_LIMIT} printable characters`;
      check.findings.error("text_format", label.path, entry.keyOffset, message);
    } else if (values.has(name)) {
      check.findings.error("duplicate_name", label.path, entry.keyOffset, `label ${shown(name)} is already set`);
    }
    const value = read(label, registeredText(LABEL_VALUE_LIMIT, 0));
    if (value !== undefined) values.set(name, value);
  }
  return Object.fromEntries(values);
});
