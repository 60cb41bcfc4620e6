import * as z from "zod";

import { nullableText } from "./text.ts";

export const actorSchema = z.object({ id: z.string(), label: nullableText });
