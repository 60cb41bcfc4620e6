/* oxlint-disable no-control-regex -- control characters are what these tests are about */
import { describe, expect, test } from "vitest";

import { layOutTable } from "../../../src/cli/table.ts";
import { createTerminal, type ProgramTerminal } from "../../../src/cli/terminal.ts";
import { textWidth } from "../../../src/platform/text/text-width.ts";

interface Screen {
  readonly terminal: ProgramTerminal;
  readonly out: () => string;
  readonly err: () => string;
}

interface ScreenOptions {
  readonly columns?: number;
  /** Which streams are a terminal. */
  readonly tty?: "both" | "stdout" | "stderr" | "none";
  readonly environment?: Readonly<Record<string, string>>;
}

function open({ columns, tty = "both", environment = {} }: ScreenOptions = {}): Screen {
  let out = "";
  let err = "";
  const size = columns === undefined ? {} : { columns };
  const terminal = createTerminal({
    stdout: { write: (text) => void (out += text), isTTY: tty === "both" || tty === "stdout", ...size },
    stderr: { write: (text) => void (err += text), isTTY: tty === "both" || tty === "stderr" },
    environment,
  });
  return { terminal, out: () => out, err: () => err };
}

const HEADERS = ["id", "axes", "hosted", "name"];
/** Columns that may be truncated. */
const PROSE = ["hosted", "name"];
const ROWS = [
  ["yam.bimanual-joint-position.v1", "14/14", "yes", "Two YAM arms"],
  ["acme.機械臂.v1", "6/6", "", "Packing cell with a name that goes on and on and on"],
];

function draw(options: ScreenOptions): string {
  const screen = open(options);
  screen.terminal.table(HEADERS, ROWS, PROSE);
  return screen.out();
}

describe("table", () => {
  test("table: 120 columns → complete", () => {
    expect(draw({ columns: 120 })).toMatchInlineSnapshot(`
      "ID                              AXES   HOSTED  NAME
      yam.bimanual-joint-position.v1  14/14  yes     Two YAM arms
      acme.機械臂.v1                  6/6            Packing cell with a name that goes on and on and on
      "
    `);
  });

  test("table: 80 columns → the widest text column is truncated", () => {
    expect(draw({ columns: 80 })).toMatchInlineSnapshot(`
      "ID                              AXES   HOSTED  NAME
      yam.bimanual-joint-position.v1  14/14  yes     Two YAM arms
      acme.機械臂.v1                  6/6            Packing cell with a name that go…
      "
    `);
  });

  test("table: 60 columns → ids stay complete", () => {
    expect(draw({ columns: 60 })).toMatchInlineSnapshot(`
      "ID                              AXES   HOSTED  NAME
      yam.bimanual-joint-position.v1  14/14  yes     Two YAM arms
      acme.機械臂.v1                  6/6            Packing cell…
      "
    `);
  });

  test("table: 40 columns → lines are cut", () => {
    expect(draw({ columns: 40 }).split("\n")[1]).toBe("yam.bimanual-joint-position.v1  14/14  …");
  });

  test.each([30, 59, 60, 80, 100, 120])("table: %i columns → no line is wider", (columns) => {
    for (const line of draw({ columns }).split("\n")) {
      const wide = [...line].filter((character) => /\p{Script=Han}/u.test(character)).length;
      expect(line.length + wide).toBeLessThanOrEqual(columns);
    }
  });

  test("table: column that is no prose → complete where the line has room", () => {
    const screen = open({ columns: 100 });
    const cells = ["two words", "rob_01m7y6f5000000000000000000", "2026-11-21T04:37Z", "works until 2027-11-21T04:37Z"];
    screen.terminal.table(["name", "id", "since", "state"], [cells]);
    for (const cell of cells) expect(screen.out()).toContain(cell);
  });

  test("table: no terminal → nothing is truncated, COLUMNS is ignored", () => {
    expect(draw({ tty: "none", columns: 40 })).toContain("Packing cell with a name that goes on and on and on");
  });

  test("table: terminal of unknown width → 80 columns", () => {
    expect(draw({ columns: 0 })).toBe(draw({ columns: 80 }));
    expect(open({ columns: 0 }).terminal.columns).toBe(80);
  });

  test("table: no headers → a list, values are never truncated", () => {
    const screen = open({ columns: 40 });
    const digest = `sha256:${"0".repeat(64)}`;
    screen.terminal.table(
      ["", ""],
      [
        ["robot", "arm-7"],
        ["on disk", digest],
      ],
    );
    expect(screen.out()).toBe(`robot    arm-7\non disk  ${digest}\n`);
  });

  test("table: a year of hourly rows of many robots → complete", () => {
    const screen = open();
    screen.terminal.table(
      ["period", "robot"],
      Array.from({ length: 200_000 }, () => ["08:00", "arm-7"]),
    );
    expect(screen.out()).toHaveLength("PERIOD  ROBOT\n".length + 200_000 * "08:00   arm-7\n".length);
  });

  test("table: no rows → only headers", () => {
    const screen = open();
    screen.terminal.table(HEADERS, []);
    expect(screen.out()).toBe("ID  AXES  HOSTED  NAME\n");
  });
});

describe("style", () => {
  test.each([
    ["on a terminal", {}, "\u001B[32mok\u001B[39m"],
    ["with NO_COLOR", { environment: { NO_COLOR: "1" } }, "ok"],
    ["with an empty NO_COLOR, which has no effect", { environment: { NO_COLOR: "" } }, "\u001B[32mok\u001B[39m"],
    ["on a dumb terminal", { environment: { TERM: "dumb" } }, "ok"],
    ["off a terminal", { tty: "none" }, "ok"],
    ["with stdout in a file", { tty: "stderr" }, "ok"],
  ] as const)("style: %s", (_case, options, expected) => {
    const { terminal, out } = open(options);
    terminal.print(terminal.style("good", "ok"));
    expect(out()).toBe(`${expected}\n`);
  });

  test("problem: coloured if its own stream is a terminal", () => {
    const problem = { code: "exists", what: "the file is there already", where: "/etc/x", fix: "--force" };
    const toFile = open({ tty: "stdout" });
    toFile.terminal.problem(problem);
    expect(toFile.err()).toBe("error: the file is there already (/etc/x) [exists]\n  → --force\n");
    const toTerminal = open({ tty: "stderr" });
    toTerminal.terminal.problem(problem);
    expect(toTerminal.err()).toContain("\u001B[31merror\u001B[39m");
  });

  test("problem: names its place itself → the place once", () => {
    const { terminal, err } = open({ tty: "stdout" });
    terminal.problem({ code: "unusable", what: "cannot use /etc/x: it is damaged", where: "/etc/x", fix: "remove it" });
    expect(err()).toBe("error: cannot use /etc/x: it is damaged [unusable]\n  → remove it\n");
  });
});

describe("text from other sources", () => {
  const hostile = "arm\u001B[2J\u001B]0;owned\u0007\u202E7\u009B31m\u2028end";

  test("print, note, table: control characters in a name → cannot move the cursor, set the title or change the writing direction", () => {
    const { terminal, out, err } = open();
    terminal.print(hostile);
    terminal.note(hostile);
    terminal.table(["name"], [[hostile]]);
    terminal.problem({ code: "x", what: hostile, where: hostile, fix: hostile });
    for (const text of [out(), err()]) expect(text).not.toMatch(/[\u0007\u009B\u202E\u2028]|\u001B\[2J|\u001B\]/);
    expect(out()).toContain("arm\\u001b[2J");
  });

  test("print: our own emphasis → only on a terminal", () => {
    const onTerminal = open();
    onTerminal.terminal.print(`${onTerminal.terminal.style("bad", "x")} \u001B[8mhidden`);
    expect(onTerminal.out()).toBe("\u001B[31mx\u001B[39m \\u001b[8mhidden\n");
    const inFile = open({ tty: "none" });
    inFile.terminal.print("\u001B[31mx");
    expect(inFile.out()).toBe("\\u001b[31mx\n");
  });

  test("table, print: colour codes in a name → escaped, and counted in the width", () => {
    const { terminal, out } = open();
    const red = "\u001B[31mred";
    terminal.table(
      ["label", "state"],
      [
        [red, terminal.style("good", "works")],
        ["x".repeat(20), terminal.style("bad", red)],
      ],
    );
    terminal.print(red);
    expect(out()).toBe(
      [
        "LABEL                 STATE",
        "\\u001b[31mred         \u001B[32mworks\u001B[39m",
        `${"x".repeat(20)}  \u001B[31m\\u001b[31mred\u001B[39m`,
        "\\u001b[31mred",
        "",
      ].join("\n"),
    );
  });

  test.each(["\t", "\n"])("table: %j in a cell → a space, columns stay aligned", (separator) => {
    const { terminal, out } = open();
    terminal.table(["name", "site"], [[`a${separator}b`, "c"]]);
    expect(out()).toBe("NAME  SITE\na b   c\n");
  });

  test("json: any text → reads back unchanged, without control characters", () => {
    const { terminal, out } = open();
    terminal.json({ name: hostile, lines: "a\nb\tc" });
    expect(out()).not.toMatch(/[\u0007\u009B\u202E\u2028\u001B]/);
    expect(JSON.parse(out())).toEqual({ name: hostile, lines: "a\nb\tc" });
  });

  test.each([
    ["cell-1\u200B", "cell-1\\u200b"],
    ["ce\u00ADll-1", "ce\\u00adll-1"],
    ["cell-1\u{E0041}", "cell-1\\udb40\\udc41"],
    ["cell\u3164", "cell\\u3164"],
    ["👩\u200D💻", "👩\u200D💻"],
  ])("print, table, json: invisible characters in a name → visible: %j → %s", (name, shown) => {
    const { terminal, out } = open();
    terminal.print(terminal.style("bold", name));
    expect(out()).toBe(`\u001B[1m${shown}\u001B[22m\n`);
    const table = open({ columns: 80 });
    const cells = [
      [name, "x"],
      ["longer than any name", "x"],
    ];
    table.terminal.table(["name", "site"], cells);
    const [, row = ""] = table.out().split("\n");
    expect(textWidth(row)).toBe("longer than any name  x".length);
    expect(row.startsWith(`${shown} `)).toBe(true);
    terminal.jsonLine({ name });
    const [, line = ""] = out().split("\n");
    expect(line).toBe(`{"name":"${shown}"}`);
    expect(JSON.parse(line)).toEqual({ name });
  });

  test("problem, concludeJson: key instead of a path → not repeated", () => {
    const key = "sk_live_0123456789abcdefghij";
    const problem = { code: "key-missing", what: `no file ${key}`, where: `/root/${key}`, fix: "correct the path" };
    const { terminal, out, err } = open({ tty: "none" });
    terminal.problem(problem);
    terminal.concludeJson(problem);
    expect(err()).toBe("error: no file sk_… (/root/sk_…) [key-missing]\n  → correct the path\n");
    expect(JSON.parse(out())).toEqual({ problem: { ...problem, what: "no file sk_…", where: "/root/sk_…" } });
    const unseen = open({ tty: "none" });
    unseen.terminal.concludeJson(problem);
    expect(unseen.out()).toBe(out());
  });
});

describe("concludeJson", () => {
  const problem = { code: "first", what: "the cause", fix: "mend it" };
  const otherwise = { code: "failed", what: "it failed", fix: "look" };

  test("concludeJson: problems shown → prints the first one", () => {
    const { terminal, out } = open();
    terminal.problem(problem);
    terminal.problem({ ...problem, code: "second" });
    terminal.concludeJson(otherwise);
    expect(JSON.parse(out())).toEqual({ problem });
  });

  test("concludeJson: no problem shown → prints its argument", () => {
    const { terminal, out } = open();
    terminal.note("config.yaml:1:1: error");
    terminal.concludeJson(otherwise);
    expect(JSON.parse(out())).toEqual({ problem: otherwise });
  });

  test("concludeJson: document already printed → prints no second one", () => {
    const { terminal, out } = open();
    terminal.problem(problem);
    terminal.json({ valid: false, problem });
    terminal.concludeJson(otherwise);
    expect(JSON.parse(out())).toEqual({ valid: false, problem });
  });
});

describe("progress", () => {
  test("progress: terminal → a bar, removed before the next line and at the end", () => {
    const { terminal, out, err } = open();
    terminal.progress("hashing", 0.25);
    expect(err()).toBe("\r\u001B[Khashing ██████░░░░░░░░░░░░░░░░░░ 25 %");
    terminal.print("done");
    expect(out()).toBe("done\n");
    expect(err().endsWith("\r\u001B[K")).toBe(true);
    const before = err();
    terminal.progress("hashing", 1);
    expect(err()).toBe(before);
  });

  test("progress: many blocks → few redraws", () => {
    const { terminal, err } = open();
    for (let step = 0; step < 1000; step += 1) terminal.progress("hashing", step / 1000);
    expect(err().split("hashing").length - 1).toBeLessThan(5);
  });

  test("progress: stderr is no terminal → nothing, even if stdout is one", () => {
    const { terminal, out, err } = open({ tty: "stdout" });
    terminal.progress("hashing", 0.5);
    expect(out() + err()).toBe("");
  });

  test("progress: 40 columns → fits", () => {
    const { terminal, err } = open();
    terminal.progress("hashing", 0.99);
    expect(err().replace(/\r\u001B\[K/, "").length).toBeLessThanOrEqual(40);
  });
});

describe("draw", () => {
  test("draw: again → replaces the previous drawing", () => {
    const { terminal, out, err } = open({ columns: 20 });
    terminal.draw(["one", "two"]);
    terminal.draw(["three"]);
    expect(err()).toBe("one\ntwo\n\u001B[2A\r\u001B[Jthree\n");
    expect(out()).toBe("");
  });

  test("draw: after other output → below it", () => {
    const { terminal, err } = open();
    terminal.draw(["one"]);
    terminal.note("a note");
    terminal.draw(["two"]);
    expect(err()).toBe("one\na note\ntwo\n");
  });

  test("draw: beside a progress bar → the bar is removed first", () => {
    const { terminal, err } = open();
    terminal.progress("hashing", 0.5);
    terminal.draw(["one"]);
    expect(err().endsWith("\r\u001B[Kone\n")).toBe(true);
  });

  test("draw: long or too many lines → truncated", () => {
    const { terminal, err } = open({ columns: 10 });
    terminal.draw([
      "x".repeat(11),
      "\u001B[2J",
      ...Array.from({ length: 50 }, (_, index) => terminal.style("bold", String(index))),
    ]);
    const lines = err().split("\n");
    expect(lines.slice(0, 2)).toEqual([`${"x".repeat(9)}…`, "\\u001b[2J"]);
    expect(lines).toHaveLength(24);
    expect(lines.at(-2)).toBe("… 30 more");
    expect(lines[2]).toMatch(/^\u001B\[\d*m0\u001B/);
  });

  test.each([["stdout"], ["stderr"], ["none"]] as const)("draw: only %s is a terminal → nothing", (tty) => {
    const { terminal, out, err } = open({ tty });
    terminal.draw(["one"]);
    expect([terminal.interactive, out() + err()]).toEqual([false, ""]);
  });
});

test("table: narrow terminal → hides optional columns, the last first, before lines are cut", () => {
  const rows = [["arm-1", "hall-2", "i".repeat(30)]];
  const layout = (columns: number) => layOutTable(["name", "site", "id"], rows, columns, [], ["site", "id"]);
  expect([50, 20, 10, 3].map((columns) => layout(columns).lines[0])).toEqual([
    "NAME   SITE    ID",
    "NAME   SITE",
    "NAME",
    "NA…",
  ]);
  expect([50, 20, 10].map((columns) => layout(columns).hidden)).toEqual([[], ["id"], ["site", "id"]]);
});

test("table: optional columns → hidden before text is cut to a few words", () => {
  const reason = "10 of 12 robots cannot run smolvla, which needs another type of robot";
  const rows = [["night", reason, "i".repeat(30)]];
  const line = (columns: number) => layOutTable(["name", "reason", "id"], rows, columns, ["reason"], ["id"]).lines[1];
  expect([120, 90, 60].map(line)).toEqual([
    `night  ${reason}  ${"i".repeat(30)}`,
    `night  10 of 12 robots cannot run smolvla, which needs an…  ${"i".repeat(30)}`,
    "night  10 of 12 robots cannot run smolvla, which needs anot…",
  ]);
});

test("table: column without values → omitted", () => {
  const rows = [
    ["", "arm-1", "", "rob_1"],
    ["", "arm-2", "", "rob_2"],
  ];
  const lines = (columns: number) => layOutTable(["", "name", "site", "id"], rows, columns, [], ["id", "site"]).lines;
  expect([80, 8].map(lines)).toEqual([
    ["NAME   ID", "arm-1  rob_1", "arm-2  rob_2"],
    ["NAME", "arm-1", "arm-2"],
  ]);
});

test("sentence: terminal → wrapped between words; otherwise unchanged", () => {
  const show = (options: ScreenOptions) => {
    const { terminal, out } = open(options);
    terminal.sentence("no robot can \u001B[2J run it", "→ ", "  ");
    return out();
  };
  expect(show({ columns: 16 })).toBe("→ no robot can\n  \\u001b[2J run\n  it\n");
  expect(show({ tty: "none", columns: 16 })).toBe("→ no robot can \\u001b[2J run it\n");
});

test("print, note, sentence, draw, warning, problem: line feed in a name → does not start a line", () => {
  const { terminal, out, err } = open({ environment: { NO_COLOR: "1" } });
  const name = "arm\n  → run this";
  terminal.print(`This removes ${name}`);
  terminal.note(`It also ends ${name}`);
  terminal.sentence(`${name} is blocked`);
  terminal.warning(`${name} waits`);
  terminal.draw([`waits for ${name}`]);
  terminal.problem({ code: "c", what: `${name} is offline`, where: name, fix: `switch ${name} on` });
  expect([...out().split("\n"), ...err().split("\n")].filter((line) => line.startsWith("  → "))).toEqual([
    "  → switch arm   → run this on",
  ]);
});

test("printText: line feeds and tabs of a document → stay", () => {
  const { terminal, out } = open({ tty: "none" });
  terminal.printText('name,note\n"arm\t7","\u001B[2J"');
  expect(out()).toBe('name,note\n"arm\t7","\\u001b[2J"\n');
});

test("jsonLine: any value → one line", () => {
  const { terminal, out } = open();
  terminal.jsonLine({ a: 1 });
  terminal.jsonLine({ b: "\u001B" });
  expect(out()).toBe('{"a":1}\n{"b":"\\u001b"}\n');
});
