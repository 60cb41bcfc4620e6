import * as z from "zod";

import { registrationViewSchema } from "../api/registrations.ts";
import { eachOf, ROBOT_TEXT_NAMES } from "../api/robot-texts.ts";
import { CONFIGURATION_DIGEST_PATTERN } from "../api/robots.ts";

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
