/** Requirements on a state or action vector, in words; `any` if there are none. The service document leaves their form open. */
export function axesInWords(value: unknown): string {
  const axes = new Map(Object.entries(value ?? {}));
  const units = textsIn(axes.get("units")).map((unit) => (unit === "1" ? "ratio" : unit));
  const names = textsIn(axes.get("names"));
  const parts = [
    countInWords(axes.get("minimum_count"), axes.get("maximum_count")),
    units.length === 0 ? "" : `each in ${units.join(" or ")}`,
    names.length === 0 ? "" : `among them ${names.join(", ")}`,
  ];
  return parts.filter((part) => part !== "").join("; ") || "any";
}

/** The texts in a list; empty if the value is not a list. */
export function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

function countInWords(minimum: unknown, maximum: unknown): string {
  const least = typeof minimum === "number" ? minimum : 0;
  const most = typeof maximum === "number" ? maximum : null;
  if (most !== null && most === least) return `exactly ${most}`;
  if (most !== null) return least === 0 ? `at most ${most}` : `${least} to ${most}`;
  return least === 0 ? "" : `at least ${least}`;
}
