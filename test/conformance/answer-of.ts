import type * as z from "zod";

import { operations } from "../../src/api/api.ts";
import type { Answer } from "../../src/service/kernel/http/answers.ts";
import type { Json } from "../../src/service/kernel/json/json.ts";
import { type Reading, validateBody } from "../../src/service/kernel/http/body.ts";

const BODIES: ReadonlyMap<string, z.ZodType> = new Map<string, z.ZodType>([
  ["/v1/robots/setup", operations.setupRobot.request],
  ["/v1/fleets", operations.createFleet.request],
  ["/v1/me/deployments", operations.createDeployment.request],
  ["/v1/me/api-keys", operations.createApiKey.request],
]);

/** The schema of a body that is sent to a path. */
export function requestSchemaAt(path: string): z.ZodType {
  const schema = path.endsWith("/model") ? operations.updateFleetModel.request : BODIES.get(path);
  if (schema === undefined) throw new Error(`No operation at ${path} has a body`);
  return schema;
}

/** The answer of the service to an invalid body; 200 if the body is valid. */
export function answerOf(schema: z.ZodType, body: Reading<Json>): Answer {
  const read = validateBody(schema, body);
  return read.state === "read" ? { status: 200, json: "{}" } : read.answer;
}
