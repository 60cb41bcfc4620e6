import * as z from "zod";

import { ROBOT_TYPE_ID_LENGTH } from "../../api/robots.ts";
import { READY_CATALOG } from "../../manifest/catalog/ids.ts";
import { fail, mapping, type Reader } from "../../documents/fields.ts";
import { nearest } from "../../documents/nearest.ts";
import { integer, isRepeated, list, oneOf, string, text } from "../../documents/readers.ts";
import { isSecretKey } from "../../documents/secrets.ts";
import { shown } from "../../documents/shown.ts";
import { type AxesRequirement, AXIS_UNITS, type Requirements } from "./requirements.ts";

/** A longer URL is probably a mistake. */
export const URL_LENGTH_MAXIMUM = 2048;
/** Path of the health check, below the URL of the endpoint. */
export const HEALTH_PATH = "/health";

/** A text that must be unique among those read with the same `seen`, which maps each to the offset of its first use. */
export function unique(seen: Map<string, number>, reader: Reader<string>): Reader<string> {
  return (place) => {
    const value = reader(place);
    if (value !== undefined) isRepeated(place, value, seen);
    return value;
  };
}

/** A text of a fixed form. @param rule ends the sentence "X is not …". */
export function matching(isOfForm: (text: string) => boolean, rule: string): Reader<string> {
  return (place) => {
    const written = string(place);
    if (written === undefined || isOfForm(written)) return written;
    return fail(place, "name_format", `${shown(written)} is not ${rule}`);
  };
}

const dateTimeSchema = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

/** A day, in UTC, or a time with its zone. @returns ISO 8601 in UTC with milliseconds. */
export const moment: Reader<string> = (place) => {
  const written = string(place);
  if (written === undefined) return undefined;
  if (dateTimeSchema.safeParse(written).success) return new Date(written).toISOString();
  return fail(place, "date_format", `${shown(written)} is not a date such as 2026-01-31 or 2026-01-31T08:00:00Z`);
};

/** The http(s) URL of an endpoint, without a slash at the end. It is shown to robots and in logs, so it must not contain a secret. */
export const endpointUrl: Reader<string> = (place) => {
  const written = string(place);
  if (written === undefined) return undefined;
  // The URL parser drops white space and control characters, so the result would differ from what was written.
  const isPlain = written.length <= URL_LENGTH_MAXIMUM && !/[\s\p{Cc}\p{Cf}\\]/u.test(written);
  const url = isPlain ? URL.parse(written) : null;
  if (url === null) return fail(place, "url_format", "expected a URL, http://HOST:PORT or https://HOST");
  if (url.username !== "" || url.password !== "" || [...url.searchParams.keys()].some(isSecretKey)) {
    // The message does not repeat the URL.
    return fail(place, "secret_in_catalog", "the URL contains a credential, which every robot and log would show");
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return fail(place, "url_format", `the URL begins with ${shown(url.protocol)}; expected http: or https:`);
  }
  if (url.hash !== "") {
    return fail(place, "url_format", "the URL has a fragment, which is never sent; remove the # and all that follows");
  }
  if (url.port === "0") return fail(place, "url_format", "no server listens on port 0");
  return url.search === "" ? url.href.replace(/\/+$/, "") : url.href;
};

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

const CAMERA_ROLE = /^[a-z][a-z0-9_]{0,63}$/;
const AXIS_NAME = /^[a-z][a-z0-9_]{0,63}\.[a-z][a-z0-9_]{0,63}\.(?:position|velocity|effort|delta)$/;

const cameraRole = matching((role) => CAMERA_ROLE.test(role), "a camera role: lower-case letters, digits and _ only");
const axisName = matching((name) => AXIS_NAME.test(name), "the name of an axis such as arm.joint_1.position");
const axisUnit = oneOf(...AXIS_UNITS);

/** Reads what a checkpoint requires of a robot. Omitted members require nothing. */
export const requirements: Reader<Requirements> = mapping((fields) => {
  const robotTypes = fields.optional("robot_types", list(ROBOT_TYPES, unique(new Map(), robotType))) ?? [];
  const cameraRoles = fields.optional("camera_roles", list(CAMERA_ROLES, unique(new Map(), cameraRole))) ?? [];
  const stateAxes = fields.optional("state_axes", axes) ?? null;
  const actionAxes = fields.optional("action_axes", axes) ?? null;
  return { robot_types: robotTypes, camera_roles: cameraRoles, state_axes: stateAxes, action_axes: actionAxes };
});

/** Any type id is accepted, except one that looks like a ready type and is not in the ready catalog: that is probably a typo. */
const robotType: Reader<string> = (place) => {
  const typeId = text(ROBOT_TYPE_ID_LENGTH.maximum)(place);
  if (typeId === undefined || READY_CATALOG.has(typeId)) return typeId;
  const vendor = `${typeId.split(".", 1)[0]}.`;
  const siblings = [...READY_CATALOG.keys()].filter((known) => known.startsWith(vendor));
  if (siblings.length > 0) {
    const meant = nearest(typeId, siblings);
    const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
    const message = `${shown(typeId)} is not a robot type of the ready catalog${hint}`;
    place.check.findings.warning("type_id_unlisted", place.path, place.node.offset, message);
  }
  return typeId;
};

const axes: Reader<AxesRequirement> = mapping((fields, place) => {
  const count = fields.optional("count", integer(AXES));
  const minimumCount = fields.optional("minimum_count", integer(AXES));
  const maximumCount = fields.optional("maximum_count", integer(AXES));
  const units = fields.optional("units", list({ minimum: 1, maximum: AXIS_UNITS.length }, unique(new Map(), axisUnit)));
  const names = fields.optional("names", list({ minimum: 1, maximum: AXES.maximum }, unique(new Map(), axisName)));
  const needed = {
    minimum_count: count ?? minimumCount ?? 0,
    maximum_count: count ?? maximumCount ?? null,
    units: units ?? [],
    names: names ?? [],
  };
  if (count !== undefined && (minimumCount !== undefined || maximumCount !== undefined)) {
    fail(place, "not_applicable", "count is the exact number; omit minimum_count and maximum_count");
  } else if (needed.maximum_count !== null && needed.maximum_count < leastAxes(needed)) {
    fail(place, "count_order", `at least ${leastAxes(needed)} axes are required and at most ${needed.maximum_count}`);
  }
  return needed;
});

/** The minimum number of axes: each required name is an axis. */
function leastAxes({ minimum_count: minimumCount, names }: AxesRequirement): number {
  return Math.max(minimumCount, names.length);
}
