/** Forms of the values of the operator's files, each with the code and the sentence of its finding. */
import * as z from "zod";

import { formed } from "../../documents/schemas.ts";
import { shown } from "../../documents/texts.ts";

/** Labels in file order. The service checks their number and length. */
export const labelMapping = z.record(z.string(), z.string());

const momentSchema = z.iso.datetime({ offset: true });

/** A date and time with its UTC offset, so that it does not depend on the reader's time zone. */
export const moment = formed("date_time", (written) =>
  isMoment(written)
    ? undefined
    : `${shown(written)} is not a time with a UTC offset, such as 2030-01-31T08:00:00+01:00`,
);

export function isMoment(text: string): boolean {
  return momentSchema.safeParse(text).success;
}

/** A non-empty string. */
export const words = formed("text_format", (written) => (written === "" ? "expected a non-empty text" : undefined));
