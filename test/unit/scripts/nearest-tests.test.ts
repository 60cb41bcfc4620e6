import { join } from "node:path";

import { expect, it } from "vitest";

import { nearestTests, readImports } from "../../../scripts/lab/mistakes/nearest-tests.ts";

const root = join(import.meta.dirname, "../../..");

it("nearestTests: the module's own folder first, also through a re-export or a bundle; conformance tests last", () => {
  const importers = readImports(root);
  const nearest = (path: string, most: number) => nearestTests(root, path, importers, most);
  expect(nearest("src/agent/decide.ts", 1)).toEqual(["test/unit/agent/decide.test.ts"]);
  const reports = nearest("src/service/webhooks/reports.ts", 3);
  expect(reports).toHaveLength(4);
  expect(reports.at(-1)).toBe("test/conformance/api-sqlite.test.ts");
  expect(nearest("src/service/enrolments/decide.ts", 4).slice(0, -1)).toSatisfy((tests: readonly string[]) =>
    tests.every((test) => test.startsWith("test/integration/service/enrolments/")),
  );
  expect(nearest("src/console/browser/webhooks/webhook.tsx", 1)).toEqual([
    "test/integration/console/browser/webhooks.test.ts",
  ]);
});
