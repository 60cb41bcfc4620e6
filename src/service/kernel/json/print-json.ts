/**
 * Prints values of `parseJson`, or plain data that contains them, as JSON: exact integers, members in their order.
 *
 * Numbers outside of JSON (NaN, infinities) become null, and unpaired surrogates are escaped, so the result is always valid UTF-8 JSON.
 */
export function printJson(value: unknown): string {
  if (typeof value === "bigint") return value.toString();
  if (value === undefined || value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(printJson).join(",")}]`;
  const members =
    value instanceof Map ? [...value] : Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${printJson(member)}`).join(",")}}`;
}
