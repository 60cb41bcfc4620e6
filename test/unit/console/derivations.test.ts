import { describe, expect, it } from "vitest";

import { bodyOf } from "../../../src/console/browser/fleets/draft.ts";
import { formErrors } from "../../../src/console/browser/parts/form/form-errors.ts";

describe("formErrors", () => {
  const problem = {
    kind: "invalid" as const,
    detail: "",
    findings: [
      { type: "string_too_short", loc: ["body", "name"], msg: "", ctx: { min_length: 1 } },
      { type: "missing", loc: ["body", "peak"], msg: "Field required" },
      { type: "value_error", loc: ["body", "windows", 0, "ends_at"], msg: "ends before it starts" },
    ],
  };
  const names = ["name", "peak", "windows.0.ends_at"];

  it.each<[what: string, changed: readonly string[], expected: readonly string[]]>([
    ["no change → all errors", [], names],
    ["fields changed → their errors are gone", ["name", "windows.0.ends_at"], ["peak"]],
  ])("%s", (_what, changed, expected) => {
    const errors = formErrors(problem, names, (name) => !changed.includes(name));
    expect(names.filter((name) => errors.of(name) !== undefined)).toEqual(expected);
    expect(errors.rest).toEqual([]);
  });

  it("an error without a field of its own → at the nearest field above, or for the whole form", () => {
    const errors = formErrors(problem, ["name", "windows"]);
    expect([errors.of("windows"), errors.rest]).toEqual(["Ends before it starts.", ["peak: Field required."]]);
  });
});

describe("bodyOf: the selection of a new fleet", () => {
  it("labels → one on each line, with the commas of their values", () => {
    const { selection } = bodyOf(formOf({ "selection.selector.labels": "zone=a,b\n\n line = c=d " }));
    expect(selection).toEqual({ selector: { labels: { zone: "a,b", line: "c=d" } } });
  });

  it("names → separated by lines or commas", () => {
    const { selection } = bodyOf(formOf({ selection: "robots", "selection.robots": "r1, r2\nr3," }));
    expect(selection).toEqual({ robots: ["r1", "r2", "r3"] });
  });
});

function formOf(values: Readonly<Record<string, string>>): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(values)) data.set(name, value);
  return data;
}
