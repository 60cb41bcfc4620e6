import * as z from "zod";

import { registrationViewSchema } from "../api/registrations.ts";
import { eachOf, ROBOT_TEXT_NAMES } from "../api/robot-texts.ts";
import { CONFIGURATION_DIGEST_PATTERN } from "../api/robots.ts";

/**
 * What a service holds of a robot, as far as an agent compares it. What is shown of it to people has a form, so that it is short and
 * holds no key.
 */
export const heldRegistrationSchema = registrationViewSchema
  .pick({ robot_id: true, robot: true, robot_type_id: true, region: true, labels: true, contract: true })
  .extend({
    /** Missing where the service does not know the text. */
    ...eachOf(ROBOT_TEXT_NAMES, () => z.string().nullish()),
    configuration_digest: z.string().regex(CONFIGURATION_DIGEST_PATTERN),
    registered_at: z.iso.datetime({ offset: true }),
    /** Since when more than one computer registers this name in turn. */
    contested_since: z.iso.datetime({ offset: true }).nullable(),
  });

export type HeldRegistration = z.output<typeof heldRegistrationSchema>;
