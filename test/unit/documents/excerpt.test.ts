import { describe, expect, test } from "vitest";

import { renderFindings } from "../../../src/documents/excerpt.ts";
import { readManifest } from "../../../src/manifest/manifest.ts";

describe("renderFindings", () => {
  test("renderFindings: finding → place, message, source line and caret", async () => {
    expect(await render("robot_type_id: yam.bimanual-joint-position.v1\nconfiguration_files:\n  - opt/yam/left.yaml\n"))
      .toMatchInlineSnapshot(`
      "/etc/m.yaml:3:5: error config_path: opt/yam/left.yaml: not absolute; start it with / or ~/
            - opt/yam/left.yaml
              ^"
    `);
  });

  test("renderFindings: tabs, wide and combining characters → the caret stays aligned", async () => {
    expect(await render('{robot_type_id: a.b.v1,\t"x-手": "🦾e\u0301", statsu: ready}')).toMatchInlineSnapshot(`
      "/etc/m.yaml:1:39: error unknown_key: unknown key statsu; did you mean status?
          {robot_type_id: a.b.v1,  "x-手": "🦾é", statsu: ready}
                                                  ^"
    `);
  });

  test("renderFindings: long line → truncated around the place", async () => {
    const rendered = await render(
      `{robot_type_id: a.b.v1, x-a: "${"a ".repeat(250)}", statsu: ready, x-b: "${"b ".repeat(250)}"}`,
    );
    expect(rendered).toMatchInlineSnapshot(`
      "/etc/m.yaml:1:534: error unknown_key: unknown key statsu; did you mean status?
          …a a a a a a a a a a a a a a a a a a a a a a a ", statsu: ready, x-b: "b b …
                                                            ^"
    `);
    for (const line of rendered.split("\n").slice(1)) expect(line.length).toBeLessThanOrEqual(80);
  });

  test("renderFindings: terminal control characters → escaped", async () => {
    expect(await render("x: \u009b31m\u202Ebar\u2028\n")).toMatchInlineSnapshot(`
      "/etc/m.yaml:1:1: error missing: robot_type_id is required
          x: \\u009b31m\\u202ebar\\u2028
          ^
      /etc/m.yaml:1:1: error unknown_key: unknown key x; known here: schema, robot_type_id, display_name, status, extends, topology, action_semantics, gripper, control_rate_hz, groups, cameras, configuration_files
          x: \\u009b31m\\u202ebar\\u2028
          ^"
    `);
  });

  test.each([
    ["the secret itself", 'robot_type_id: yam.v1\ndisplay_name: "sk_acme_0123456789abcdefXYZ"\n'],
    ["an escaped secret beside another mistake", '{"x-a": "\\x73k_acme_0123456789abcdefXYZ", statsu: 1}\n'],
    ["a secret in a line that is no YAML", "display_name: @ sk_acme_0123456789abcdefXYZ\n"],
    ["a password in a line that is no YAML", "password: 'hunter2-0123456789abcdef' x\n"],
    ["a password in an address", "display_name: 'https://me:0123456789abcdefXYZ@host' x\n"],
    ["the inside of a private key", `display_name: @ ${"0123456789abcdefXYZ".repeat(4)}\n`],
  ])("scenario 16: %s → never in an excerpt", async (_, text) => {
    const rendered = await render(text);
    expect(rendered).toMatch(/error/);
    expect(rendered).not.toContain("0123456789abcdef");
  });

  test("renderFindings: unreadable file → no source line", async () => {
    const finding = {
      id: "file_missing",
      severity: "error",
      loc: "",
      message: "it is not there",
      line: 1,
      column: 1,
    } as const;
    expect(renderFindings([finding], { path: "/a\n", bytes: null, columns: 80 })).toEqual([
      String.raw`/a\u000a:1:1: error file_missing: it is not there`,
    ]);
  });
});

async function render(text: string): Promise<string> {
  const bytes = Buffer.from(text);
  const reading = await readManifest(bytes);
  const findings = reading.findings.filter(({ severity }) => severity === "error");
  return renderFindings(findings, { path: "/etc/m.yaml", bytes, columns: 80 }).join("\n");
}
