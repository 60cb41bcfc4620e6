/**
 * The exact answer of each operation, made of the schemas of src/api: every member is there, and no others are. Clients need less. Members
 * that have a form, such as ids and times, have it.
 */
import * as z from "zod";

import {
  allOperations as operationTable,
  type beyondSpec,
  type OperationName,
  type operations,
} from "../../../src/api/api.ts";
import { ERROR_CODES, REFUSAL_REASONS, validationErrorBodySchema } from "../../../src/api/wire/errors.ts";

type Operations = typeof operations & typeof beyondSpec;

/** An answer of this service, which leaves out no member that may be null. */
export type Exact<T> = T extends readonly (infer Item)[]
  ? Exact<Item>[]
  : T extends object
    ? { [Member in keyof T]-?: Exact<Exclude<T[Member], undefined>> }
    : T;

export type AnswerTo<Name extends OperationName> = Exact<z.output<Operations[Name]["response"]>>;
export type RobotView = AnswerTo<"getRobot">;
export type FleetView = AnswerTo<"getFleet">;
export type DeploymentView = AnswerTo<"getDeployment">;

/** A prefix for the kind of resource, then a UUIDv7 as in TypeID. */
const typeId = (prefix: string) => new RegExp(`^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`);

/** The `id` of the views of these schemas. */
const IDS: ReadonlyMap<string, RegExp> = new Map([
  ["RobotView", typeId("rob")],
  ["FleetView", typeId("fleet")],
  ["DeploymentView", typeId("dep")],
  ["ApiKeyView", typeId("key")],
  ["ApiKeyCreated", typeId("key")],
  ["ApiKeyRotated", typeId("key")],
  ["UsageRecord", typeId("use")],
  ["AuditEntry", typeId("aud")],
  ["Webhook", typeId("wh")],
  ["WebhookSecret", typeId("wh")],
  ["SessionEnded", typeId("ses")],
]);

/** Forms of texts, by the name of the member. */
const FORMS: ReadonlyMap<string, RegExp> = new Map([
  ["robot_id", typeId("rob")],
  ["last_robot_id", typeId("rob")],
  ["fleet_id", typeId("fleet")],
  ["generation_id", typeId("gen")],
  ["active_generation_id", typeId("gen")],
  ["deployment_id", typeId("dep")],
  ["installation_id", typeId("rinst")],
  ["approval_id", typeId("renr")],
  ["exchange_id", typeId("login")],
  ["parent_id", typeId("key")],
  ["former_key_id", typeId("key")],
  ["subject_id", /^[a-z]+_/],
  ["principal", /^robot:rob_/],
  ["api_key", /^sk_rps_[0-9A-Za-z]{28}$/],
  ["key_prefix", /^sk_rps_$/],
  ["key_last4", /^[0-9A-Za-z]{4}$/],
  ["installation_token", /^rps_robot_/],
  ["poll_token", /^[!-{}~]{24,}$/],
  ["secret", /^whsec_[A-Za-z0-9+/]{43}=$/],
  ["user_code", /^(?:[A-Z]{4}-[A-Z]{4}|[A-HJKMNP-Z2-9]{4}-[A-HJKMNP-Z2-9]{4})$/],
  ["key_fingerprint", /^SHA256:[A-Za-z0-9+/]{43}$/],
  ["configuration_digest", /^sha256:[0-9a-f]{64}$/],
  ["login_url", /^\/login\?exchange=/],
  ["blocker", /^.{1,2000}$/],
  ["reason", /^.{1,2000}$/],
]);
/** ISO 8601 in UTC with milliseconds: the text sorts by time. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/** Periods of usage begin and end at whole seconds, so that nothing is rounded. */
const WHOLE_SECOND = /\.000Z$/;

type View = Readonly<Record<string, unknown>>;

/** What holds between the members of a view. */
const RULES: ReadonlyMap<string, (view: View) => boolean> = new Map([
  ["FleetView", ({ status, blocker }: View) => (status === "blocked") === (blocker !== null)],
  [
    "FleetRobotCounts",
    ({ registered, ready, active, waiting, blocked }: View) =>
      registered === [ready, active, waiting, blocked].reduce<number>((sum, count) => sum + Number(count), 0),
  ],
  [
    "FleetMemberView",
    ({ state, waiting_for: waitingFor, reason }: View) =>
      (waitingFor !== null) === (state === "waiting") &&
      (reason !== null) === (state === "waiting" || state === "blocked"),
  ],
  ["PreviewedRobot", ({ fits, reason }: View) => (fits === null ? reason === null : fits === true || reason !== null)],
]);

/** @param name of the member that has the schema. */
function exact(schema: z.core.$ZodType, name = ""): z.ZodType {
  if (schema instanceof z.ZodObject) return exactObject(schema);
  if (schema instanceof z.ZodArray) return z.array(exact(schema.element, name));
  if (schema instanceof z.ZodUnion) return z.union(schema.options.map((option) => exact(option, name)));
  if (schema instanceof z.ZodNullable) return exact(schema.unwrap(), name).nullable();
  if (schema instanceof z.ZodDefault) return exact(schema.unwrap(), name);
  if (schema instanceof z.ZodOptional) {
    const inner = exact(schema.unwrap(), name);
    return inner instanceof z.ZodNullable && name !== "site" ? inner : inner.optional();
  }
  if (schema instanceof z.ZodString) return z.string().regex(formOf(name));
  // The only one with a transformation.
  if (schema instanceof z.ZodPipe) return z.record(z.string(), z.string());
  return schema instanceof z.ZodType ? schema : z.unknown();
}

function exactObject(schema: z.ZodObject): z.ZodType {
  const id = schema.meta()?.id ?? "";
  const shape = Object.entries(schema.shape).map(([name, member]) => {
    const form = name === "id" ? IDS.get(id) : undefined;
    return [name, form === undefined ? exact(member, name) : z.string().regex(form)] as const;
  });
  const rule = RULES.get(id);
  const strict = z.strictObject(Object.fromEntries(shape));
  return rule === undefined ? strict : strict.refine(rule, `the rule of ${id}`);
}

function formOf(name: string): RegExp {
  if (name.startsWith("period_")) return WHOLE_SECOND;
  return /(?:^|_)(?:at|since|until)$/.test(name) ? TIME : (FORMS.get(name) ?? /(?:)/);
}

/** The exact answer of every operation. */
const answers: ReadonlyMap<string, z.ZodType> = new Map(
  Object.entries(operationTable).map(([name, { response }]) => [name, exact(response)]),
);

/** @throws what is wrong with an answer. */
export function readAnswer<Name extends OperationName>(name: Name, body: unknown): AnswerTo<Name> {
  return answers.get(name)?.parse(body) as AnswerTo<Name>;
}

/** Body of a 422 answer. */
export const findings = exact(validationErrorBodySchema).pipe(validationErrorBodySchema);

/** Body of every other refusal: the same sentence twice, and a code for programs. */
export const refusal = z
  .strictObject({
    detail: z.string().min(1),
    message: z.string().min(1),
    code: z.enum(ERROR_CODES),
    reason: z.enum(REFUSAL_REASONS).optional(),
  })
  .refine(({ detail, message }) => detail === message);
