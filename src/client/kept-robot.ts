import * as z from "zod";

import type { RobotView } from "../api/robot-views.ts";
import { robotViewSchema } from "../api/robot-views.ts";
import { maskWholeKeys } from "../platform/text/service-key.ts";

/** Twice what the service takes for any of them, in UTF-16 units. */
const TEXT_LIMIT = 512;
/** All members, and 32 labels with their names. */
const TEXTS_LIMIT = 6 + 2 * 32;

/**
 * A robot as an agent keeps it: what the service says of it stays in the state file, the status and the log for years. It is bounded and
 * holds no key.
 */
const keptRobotSchema = robotViewSchema
  .refine(isBounded, "longer than a robot can be")
  .transform(({ id, name, robot_type_id: robotTypeId, region, created_at: createdAt, site, labels }): RobotView => ({
    id: maskWholeKeys(id),
    name: maskWholeKeys(name),
    robot_type_id: maskWholeKeys(robotTypeId),
    region: maskWholeKeys(region),
    created_at: maskWholeKeys(createdAt),
    site: site === null ? null : maskWholeKeys(site),
    labels: Object.fromEntries(
      Object.entries(labels).map(([label, value]) => [maskWholeKeys(label), maskWholeKeys(value)]),
    ),
  }));

/** Answer of `POST /v1/robots/setup`, as an agent reads it. */
export const keptRobotAnswerSchema = z.object({ robot: keptRobotSchema });

function isBounded({
  id,
  name,
  robot_type_id: robotTypeId,
  region,
  created_at: createdAt,
  site,
  labels,
}: RobotView): boolean {
  const texts = [id, name, robotTypeId, region, createdAt, site ?? "", ...Object.entries(labels).flat()];
  return texts.length <= TEXTS_LIMIT && texts.every((text) => text.length <= TEXT_LIMIT);
}
