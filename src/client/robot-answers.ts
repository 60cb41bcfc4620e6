import * as z from "zod";

import { registrationViewSchema } from "../api/registrations.ts";
import { eachOf, ROBOT_TEXT_NAMES } from "../api/robot-texts.ts";
import { type RobotView, robotViewSchema } from "../api/robot-views.ts";
import { CONFIGURATION_DIGEST_PATTERN } from "../api/robots.ts";
import { maskWholeKeys } from "../api/wire/service-key.ts";

/** Twice what the service takes for any of them, in UTF-16 units. */
const TEXT_LIMIT = 512;
const LABELS_LIMIT = 32;

/**
 * A robot as an agent keeps it: what the service says of it stays in the state file, the status and the log for years. It is bounded and
 * holds no key.
 */
const keptRobotSchema = robotViewSchema
  .refine(isBounded, "longer than a robot can be")
  .transform((robot): RobotView => ({
    id: maskWholeKeys(robot.id),
    name: maskWholeKeys(robot.name),
    robot_type_id: maskWholeKeys(robot.robot_type_id),
    region: maskWholeKeys(robot.region),
    created_at: maskWholeKeys(robot.created_at),
    ...eachOf(ROBOT_TEXT_NAMES, (text) => (robot[text] === null ? null : maskWholeKeys(robot[text]))),
    labels: Object.fromEntries(
      Object.entries(robot.labels).map(([label, value]) => [maskWholeKeys(label), maskWholeKeys(value)]),
    ),
  }));

/** Answer of `POST /v1/robots/setup`, as an agent reads it. */
export const keptRobotAnswerSchema = z.object({ robot: keptRobotSchema });

function isBounded({ labels, ...texts }: RobotView): boolean {
  const all = [...Object.values(texts), ...Object.entries(labels).flat()];
  return Object.keys(labels).length <= LABELS_LIMIT && all.every((text) => (text ?? "").length <= TEXT_LIMIT);
}

/**
 * The registration that a service has of a robot, as far as an agent compares it. Members that are shown to people have a checked format, so
 * that they are short and contain no key.
 */
export const heldRegistrationSchema = registrationViewSchema
  .pick({ robot_id: true, robot: true, robot_type_id: true, region: true, labels: true, contract: true })
  .extend({
    /** Missing when the service does not know the text. */
    ...eachOf(ROBOT_TEXT_NAMES, () => z.string().nullish()),
    configuration_digest: z.string().regex(CONFIGURATION_DIGEST_PATTERN),
    registered_at: z.iso.datetime({ offset: true }),
    /** Since when more than one computer registers this name in turn. */
    contested_since: z.iso.datetime({ offset: true }).nullable(),
  });

export type HeldRegistration = z.output<typeof heldRegistrationSchema>;
