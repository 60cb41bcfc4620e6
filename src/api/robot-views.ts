import * as z from "zod";

/**
 * A robot as the service shows it.
 *
 * Our service always sends all seven members. Other services may leave out `site` and `labels`. Clients ignore unknown members.
 */
export const robotViewSchema = z
  .object({
    id: z.string().describe("Does not change when the robot registers again."),
    name: z.string(),
    robot_type_id: z.string(),
    region: z.string(),
    /** ISO 8601 date-time. */
    created_at: z.string().describe("When the robot first registered."),
    site: z
      .string()
      .nullish()
      .transform((site) => site ?? null),
    labels: z
      .record(z.string(), z.string())
      .nullish()
      .transform((labels) => labels ?? {}),
  })
  .meta({ id: "RobotView" });

export type RobotView = z.output<typeof robotViewSchema>;

/** Answer of `POST /v1/robots/setup`. */
export const robotSetupAnswerSchema = z.object({ robot: robotViewSchema }).meta({ id: "RobotSetupAnswer" });

/** Answer of `GET /v1/robots`. */
export const robotListSchema = z.array(robotViewSchema);
