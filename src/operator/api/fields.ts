/** A field as it was given, for a query. */
interface GivenField {
  readonly name: string;
  readonly text: string;
}

export type Fields =
  | { readonly kind: "fields"; readonly names: readonly GivenField[]; readonly body: unknown }
  | { readonly kind: "bad-field"; readonly what: string };

/** A name, at most 15 members of members, `[]` only at the end, and the value. */
const FIELD = /^([^=[\]]+)((?:\[[^[\]=]+\]){0,15}(?:\[\])?)=([\s\S]*)$/;

/**
 * Builds a body from fields: `name=x`, `selector[site]=x` for a nested member, `robots[]=x` to append to a list.
 *
 * @param raw fields whose values are strings.
 * @param typed fields whose values are numbers, `true`, `false` or `null` if they have that form, else strings.
 */
export function readFields(raw: readonly string[], typed: readonly string[]): Fields {
  const names: GivenField[] = [];
  const body = new Map<string, Node>();
  const all = [...raw.map((field) => ({ field, isTyped: false })), ...typed.map((field) => ({ field, isTyped: true }))];
  for (const { field, isTyped } of all) {
    const match = FIELD.exec(field);
    if (match === null) return { kind: "bad-field", what: `'${field}' is not a field` };
    const [, name = "", brackets = "", text = ""] = match;
    const path = [name, ...[...brackets.matchAll(/\[([^\]]*)\]/g)].map(([, member = ""]) => member)];
    if (!put(body, path, isTyped ? readValue(text) : text)) {
      return { kind: "bad-field", what: `'${field}' contradicts another field` };
    }
    names.push({ name: name + brackets, text });
  }
  return { kind: "fields", names, body: toJson(body) };
}

/** A member of the body. Objects are Maps, because a Map has no `__proto__`. */
type Node = Map<string, Node> | Node[] | string | number | boolean | null;

function put(members: Map<string, Node>, [name = "", ...rest]: readonly string[], value: Node): boolean {
  const there = members.get(name);
  const [next] = rest;
  if (next === undefined) {
    if (there !== undefined) return false;
    members.set(name, value);
    return true;
  }
  if (next === "") {
    const list = there ?? [];
    if (!Array.isArray(list)) return false;
    members.set(name, [...list, value]);
    return true;
  }
  const inner = there ?? new Map<string, Node>();
  if (!(inner instanceof Map)) return false;
  members.set(name, inner);
  return put(inner, rest, value);
}

function readValue(text: string): Node {
  switch (text) {
    case "true":
      return true;
    case "false":
      return false;
    case "null":
      return null;
  }
  return /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?$/.test(text) ? Number(text) : text;
}

function toJson(node: Node): unknown {
  if (node instanceof Map) return Object.fromEntries([...node].map(([name, inner]) => [name, toJson(inner)]));
  return Array.isArray(node) ? node.map(toJson) : node;
}
