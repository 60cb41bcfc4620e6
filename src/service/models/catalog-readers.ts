/** Forms of the values of a model catalog, each with the code and the sentence of its finding. */
import * as z from "zod";

import { ROBOT_TYPE_ID_LENGTH } from "../../api/robots.ts";
import { integer, name, OF_MAPPING, refuse, rightMembers, text, uniqueTexts } from "../../documents/schemas.ts";
import { isSecretKey } from "../../documents/secrets.ts";
import { shown } from "../../documents/texts.ts";
import { AXIS_UNITS, type AxesRequirement, NO_REQUIREMENTS, type Requirements } from "./requirements.ts";

/** A longer URL is probably a mistake. */
const URL_LENGTH_MAXIMUM = 2048;
/** Path of the health check, below the URL of the endpoint. */
const HEALTH_PATH = "/health";

const dateTimeSchema = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

/** A day, in UTC, or a time with its zone, made ISO 8601 in UTC with milliseconds. */
export const dateTime = z
  .string()
  .superRefine((written, ctx) => {
    if (dateTimeSchema.safeParse(written).success) return;
    const message = `${shown(written)} is not a date such as 2026-01-31 or 2026-01-31T08:00:00Z`;
    refuse(ctx, { id: "date_format", message });
  })
  .transform((written) => new Date(written).toISOString());

/** The http(s) URL of an endpoint, without a slash at the end. It is shown to robots and in logs, so it must not contain a secret. */
export const endpointUrl = z
  .string()
  .superRefine((written, ctx) => {
    const url = parsePlainUrl(written);
    if (url === null) {
      const message = "expected a URL, http://HOST:PORT or https://HOST, without a fragment";
      refuse(ctx, { id: "url_format", message });
    } else if (url.username !== "" || url.password !== "" || [...url.searchParams.keys()].some(isSecretKey)) {
      // The message does not repeat the URL.
      const message = "the URL contains a credential, which every robot and log would show";
      refuse(ctx, { id: "secret_in_catalog", message });
    }
  })
  .transform((written) => {
    const { search, href } = new URL(written);
    return search === "" ? href.replace(/\/+$/, "") : href;
  });

/** Null for a text that is no such URL, or another than it seems: the parser drops white space and control characters. */
function parsePlainUrl(written: string): URL | null {
  const isPlain = written.length <= URL_LENGTH_MAXIMUM && !/[\s\p{Cc}\p{Cf}\\#]/u.test(written);
  const url = isPlain ? URL.parse(written) : null;
  const isHttp = url?.protocol === "http:" || url?.protocol === "https:";
  return isHttp && url.port !== "0" ? url : null;
}

/** The health URL of an endpoint, if the catalog gives none. */
export function defaultHealthUrl(endpoint: string): string {
  const url = new URL(endpoint);
  url.search = "";
  url.pathname = url.pathname.replace(/\/+$/, "") + HEALTH_PATH;
  return url.href;
}

/** The maximum of a robot manifest; higher requirements could never be met. */
const CAMERA_ROLES = { minimum: 0, maximum: 8 } as const;
const AXES = { minimum: 0, maximum: 256 } as const;
const ROBOT_TYPES = { minimum: 0, maximum: 64 } as const;

const cameraRole = name(/^[a-z][a-z0-9_]{0,63}$/, "a camera role: lower-case letters, digits and _ only");
const axisName = name(
  /^[a-z][a-z0-9_]{0,63}\.[a-z][a-z0-9_]{0,63}\.(?:position|velocity|effort|delta)$/,
  "the name of an axis such as arm.joint_1.position",
);

const axes = z
  .object({
    count: integer(AXES).optional(),
    minimum_count: integer(AXES).optional(),
    maximum_count: integer(AXES).optional(),
    units: uniqueTexts({ minimum: 1, maximum: AXIS_UNITS.length }, z.literal(AXIS_UNITS)).optional(),
    names: uniqueTexts({ minimum: 1, maximum: AXES.maximum }, axisName).optional(),
  })
  .superRefine((written, ctx) => {
    const { count, minimum_count: minimum, maximum_count: maximum, names = [] } = rightMembers(written, ctx);
    // Each required name is an axis.
    const least = Math.max(count ?? minimum ?? 0, names.length);
    const most = count ?? maximum;
    if (count !== undefined && (minimum !== undefined || maximum !== undefined)) {
      const message = "count is the exact number; omit minimum_count and maximum_count";
      refuse(ctx, { id: "not_applicable", message });
    } else if (most !== undefined && most < least) {
      refuse(ctx, { id: "count_order", message: `at least ${least} axes are required and at most ${most}` });
    }
  }, OF_MAPPING)
  .transform(
    ({ count, minimum_count: minimum = 0, maximum_count: maximum, units = [], names = [] }): AxesRequirement => ({
      minimum_count: count ?? minimum,
      maximum_count: count ?? maximum ?? null,
      units,
      names,
    }),
  );

/** What a checkpoint requires of a robot. Omitted members require nothing. */
export const requirements = z
  .object({
    robot_types: uniqueTexts(ROBOT_TYPES, text(ROBOT_TYPE_ID_LENGTH.maximum)).default([]),
    camera_roles: uniqueTexts(CAMERA_ROLES, cameraRole).default([]),
    state_axes: axes.optional(),
    action_axes: axes.optional(),
  })
  .transform(({ state_axes: stateAxes = null, action_axes: actionAxes = null, ...named }): Requirements => ({
    ...NO_REQUIREMENTS,
    ...named,
    state_axes: stateAxes,
    action_axes: actionAxes,
  }));
