/** @module-tag needs/program */
import { expect, test } from "vitest";

import { execute } from "../../support/programs/execute.ts";
import { OPERATOR_PROGRAM } from "../../support/programs/programs-built.ts";
import { serveHttp } from "./servers.ts";

test("many answers → V8 does not spend memory on optimizing their parser", async () => {
  let pages = 0;
  await using server = await serveHttp((_request, response) => {
    pages += 1;
    const next = pages < 30 ? { link: `</v1/robots?cursor=page-${pages}>; rel="next"` } : {};
    response.writeHead(200, { "content-type": "application/json", ...next }).end("[]");
  });
  const { stdout } = await execute(
    [process.execPath, "--trace-wasm-compilation-times", OPERATOR_PROGRAM, "robots", "list", "--json"],
    {
      environment: {
        ROBOT_POLICY_URL: `http://127.0.0.1:${server.port}`,
        ROBOT_POLICY_API_KEY: "sk_test_0123456789abcdef",
      },
    },
  );
  expect(pages).toBe(30);
  expect(stdout).toContain("using Liftoff");
  expect(stdout).not.toContain("using TurboFan");
});
