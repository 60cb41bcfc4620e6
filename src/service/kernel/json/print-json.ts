/**
 * Prints what `parseJson` read, or plain data with such values in it, as JSON: exact integers, members in their order.
 *
 * Numbers that JSON cannot say (NaN, infinities) become null, unpaired surrogates their escape, so the result is always
 * valid UTF-8 JSON.
 */
export function printJson(value: unknown): string {
  if (typeof value === "bigint") return value.toString();
  if (value === undefined || value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(printJson).join(",")}]`;
  const members =
    value instanceof Map ? [...value] : Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${printJson(member)}`).join(",")}}`;
}
