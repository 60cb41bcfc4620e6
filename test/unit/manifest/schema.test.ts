import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import * as z from "zod";

import { READY_CATALOG } from "../../../src/manifest/catalog-ids.ts";
import { loadCatalog } from "../../../src/manifest/catalog.ts";
import { readManifest } from "../../../src/manifest/manifest.ts";
import { manifestSchema } from "../../../src/manifest/schema.ts";

const schema = manifestSchema(await loadCatalog());
const validator = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);

describe("manifestSchema", () => {
  test.each([
    "robot_type_id: yam.bimanual-joint-position.v1\n",
    "schema: robot-manifest/v1\nrobot_type_id: a.b.v1\nstatus: draft\ndisplay_name: a\nx-a: {b: c}\n",
    "robot_type_id: a.b.v1\nconfiguration_files: [/a, ~/b, {path: /c}, {label: d, path: /d, x-e: 1}]\n",
    "configuration_files: [/a]\n",
    "schema: robot-manifest/v2\nrobot_type_id: a.b.v1\n",
    "robot_type_id: A.b.v1\n",
    "robot_type_id: a.b.v0\n",
    "robot_type_id: 7\n",
    "robot_type_id: a.b.v1\nstatus: almost\n",
    "robot_type_id: a.b.v1\nunknown: 1\n",
    "robot_type_id: a.b.v1\ndisplay_name: ''\n",
    "robot_type_id: a.b.v1\nconfiguration_files: /a\n",
    "robot_type_id: a.b.v1\nconfiguration_files: [a]\n",
    "robot_type_id: a.b.v1\nconfiguration_files: [/a/]\n",
    "robot_type_id: a.b.v1\nconfiguration_files: [/a*]\n",
    "robot_type_id: a.b.v1\nconfiguration_files: [{label: a}]\n",
    "robot_type_id: a.b.v1\nconfiguration_files: [{path: /a, mode: 1}]\n",
    `robot_type_id: a.b.v1\nconfiguration_files: [${"/a, ".repeat(65)}]\n`,
    "- a\n",
  ])("manifestSchema: agrees with the reader on %j", (text) => {
    const { findings } = readManifest(Buffer.from(text), READY_CATALOG);
    const isValid = findings.every(({ severity }) => severity === "warning");
    expect(validator.safeParse(parse(text)).success).toBe(isValid);
  });

  test("manifestSchema: every key is described", () => {
    const { properties } = schema as { properties: Record<string, { description?: string }> };
    for (const [key, { description }] of Object.entries(properties))
      expect([key, description?.length]).toEqual([key, expect.any(Number)]);
  });
});
