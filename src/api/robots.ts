import * as z from "zod";

import { text } from "./text.ts";

/** Code points, as the service document gives them. */
export const ROBOT_NAME_LENGTH = { minimum: 1, maximum: 64 } as const;
export const ROBOT_TYPE_ID_LENGTH = { minimum: 1, maximum: 256 } as const;
export const SITE_LENGTH = { minimum: 1, maximum: 128 } as const;
export const CONFIGURATION_DIGEST_PATTERN = /^sha256:[0-9a-f]{64}$/;

/** Bounds of our own where the document shows none; far beyond what a robot needs, because nothing is stored without a bound. */
export const REGION_LENGTH = { maximum: 256 } as const;
export const LABEL_KEY_LENGTH = { maximum: 256 } as const;
export const LABEL_VALUE_LENGTH = { maximum: 1024 } as const;
export const ROBOT_LABELS_COUNT = { maximum: 256 } as const;

/** Labels of robots, at most `maximum`: key-value pairs that selectors of fleets match on. */
export function labelsSchema(maximum: number) {
  return z
    .record(text(LABEL_KEY_LENGTH), text(LABEL_VALUE_LENGTH))
    .check((context) => {
      if (Object.keys(context.value).length <= maximum) return;
      context.issues.push({ code: "too_big", origin: "map", maximum, inclusive: true, input: context.value });
    })
    .meta({ maxProperties: maximum });
}

/** Body of `POST /v1/robots/setup`: the registration of one physical robot, first or replacing. */
export const robotSetupSchema = z.object({
  name: text(ROBOT_NAME_LENGTH),
  robot_type_id: text(ROBOT_TYPE_ID_LENGTH),
  region: text(REGION_LENGTH),
  configuration_digest: text({ pattern: CONFIGURATION_DIGEST_PATTERN }),
  /** Null and absent mean the same: existing clients send null. */
  site: text(SITE_LENGTH).nullish(),
  labels: labelsSchema(ROBOT_LABELS_COUNT.maximum).nullish(),
  contract: z.record(z.string(), z.unknown()).nullish(),
});

export type RobotSetup = z.output<typeof robotSetupSchema>;

/**
 * A robot as the service shows it.
 *
 * Our service always sends all seven members; a reader of other services must do without `site` and `labels`, and ignores
 * members it does not know.
 */
export const robotViewSchema = z.object({
  id: z.string(),
  name: z.string(),
  robot_type_id: z.string(),
  region: z.string(),
  /** ISO 8601 date-time. */
  created_at: z.string(),
  site: z
    .string()
    .nullish()
    .transform((site) => site ?? null),
  labels: z
    .record(z.string(), z.string())
    .nullish()
    .transform((labels) => labels ?? {}),
});

export type RobotView = z.output<typeof robotViewSchema>;

/** Answer of `POST /v1/robots/setup`. */
export const robotSetupAnswerSchema = z.object({ robot: robotViewSchema });

/** Answer of `GET /v1/robots`. */
export const robotListSchema = z.array(robotViewSchema);
