import { describe, expect, it } from "vitest";

import { type Candidate, mismatch, movesOf, type Selector } from "../../../../src/service/fleets/following/rules.ts";

const ANY: Selector = { site: null, region: null, robot_type_id: null, labels: {} };

function robot(parts: Partial<Candidate> = {}): Candidate {
  const { id = "rob_1" } = parts;
  return {
    id,
    name: id,
    site: "lab",
    region: "eu",
    robotTypeId: "arm",
    labels: [["line", "4"]],
    isRemoved: false,
    ...parts,
  };
}

describe("mismatch: why a selector does not match a robot", () => {
  const CASES: readonly [string, Partial<Selector>, Partial<Candidate>, string | null][] = [
    ["all filters match", { site: "lab", region: "eu", robot_type_id: "arm", labels: { line: "4" } }, {}, null],
    ["no filter, but removed", {}, { isRemoved: true }, "it was removed"],
    ["another site", { site: "plant" }, {}, "its site is lab"],
    ["sites differ in case", { site: "Lab" }, {}, "its site is lab"],
    ["no site", { site: "plant" }, { site: null }, "it has no site"],
    ["another region", { region: "us" }, {}, "its region is eu"],
    ["another type", { robot_type_id: "hand" }, {}, "its type is arm"],
    [
      "more labels than required",
      { labels: { line: "4" } },
      {
        labels: [
          ["line", "4"],
          ["a", "b"],
        ],
      },
      null,
    ],
    ["another value of a label", { labels: { line: "5" } }, {}, "its label line is 4"],
    ["a label missing", { labels: { line: "4", cell: "1" } }, {}, "it has no label cell"],
    ["a label named like an Object member", { labels: { constructor: "x" } }, {}, "it has no label constructor"],
    ["a site with a bidirectional control character", { site: "plant" }, { site: "a\u202eb" }, "its site is a\\u202eb"],
  ];
  it.each(CASES)("%s", (_what, filters, parts, expected) => {
    expect(mismatch(robot(parts), { ...ANY, ...filters })).toBe(expected);
  });
});

describe("movesOf", () => {
  const LAB: Selector = { ...ANY, site: "lab" };
  const shown = (robots: readonly Candidate[], members: readonly string[], count: number) =>
    movesOf(LAB, robots, new Set(members), count).map(({ robot: { id }, change }) => `${id} ${change}`);
  const [a, b, c] = [robot({ id: "a" }), robot({ id: "b" }), robot({ id: "c" })];
  const gone = (id: string) => robot({ id, site: "plant" });

  it("matching robots join, others leave, members that match stay", () => {
    expect(shown([a, b, gone("c"), gone("d")], ["b", "c"], 2)).toEqual(["c left", "a joined"]);
  });

  it("one place left → the first robot takes it", () => {
    expect(shown([a, b, c], [], 999)).toEqual(["a joined", "b left_out", "c left_out"]);
    expect(shown([a], [], 1000)).toEqual(["a left_out"]);
  });

  it("a place becomes free → taken at once", () => {
    expect(shown([a, gone("b")], ["b"], 1000)).toEqual(["b left", "a joined"]);
  });

  it("full fleet → its members stay", () => {
    expect(shown([a], ["a"], 1000)).toEqual([]);
  });
});
