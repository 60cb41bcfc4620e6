import * as z from "zod";

import * as account from "../../api/account.ts";
import * as audit from "../../api/audit.ts";
import { otherContractSchema, robotContractSchema } from "../../api/contract.ts";
import * as deployments from "../../api/deployments.ts";
import * as endpoints from "../../api/endpoints.ts";
import * as fleetDetails from "../../api/fleet-details.ts";
import * as fleets from "../../api/fleets.ts";
import * as keys from "../../api/keys.ts";
import * as logins from "../../api/logins.ts";
import * as models from "../../api/models.ts";
import * as refusals from "../../api/refusals.ts";
import * as registrations from "../../api/registrations.ts";
import * as robotViews from "../../api/robot-views.ts";
import * as robots from "../../api/robots.ts";
import * as usage from "../../api/usage.ts";
import * as errors from "../../api/wire/errors.ts";
import { DESCRIPTIONS } from "./descriptions.ts";

/** A schema of JSON Schema 2020-12, which is what OpenAPI 3.1 speaks. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Bodies by their names in the service document, and names of the same kind where it has none. */
const REQUESTS: ReadonlyMap<string, z.ZodType> = new Map<string, z.ZodType>([
  ["ApiKeyCreate", keys.apiKeyCreateSchema],
  ["ApiKeyScope", keys.apiKeyScopeSchema],
  ["DeploymentCreate", deployments.deploymentCreateSchema],
  ["FleetCreate", fleets.fleetCreateSchema],
  ["FleetModelUpdate", fleets.fleetModelUpdateSchema],
  ["FleetPreview", fleets.fleetPreviewSchema],
  ["FleetRobotSelection", fleets.fleetRobotSelectionSchema],
  ["LoginDecision", logins.loginDecisionSchema],
  ["LoginExchange", logins.loginExchangeSchema],
  ["LoginPoll", logins.loginPollSchema],
  ["LoginStart", logins.loginStartSchema],
  ["OperatingWindow", fleets.operatingWindowSchema],
  ["OtherContract", otherContractSchema],
  ["ReadinessMode", fleets.readinessModeSchema],
  ["RobotContract", robotContractSchema],
  ["RobotSelector", fleets.robotSelectorSchema],
  ["RobotSetup", robots.robotSetupSchema],
]);

const ANSWERS: ReadonlyMap<string, z.ZodType> = new Map<string, z.ZodType>([
  ["AccountView", account.accountViewSchema],
  ["ApiKeyCreated", keys.apiKeyCreatedSchema],
  ["ApiKeyList", keys.apiKeyListSchema],
  ["ApiKeyView", keys.apiKeyViewSchema],
  ["AuditEntry", audit.auditEntrySchema],
  ["AuditList", audit.auditListSchema],
  ["CheckpointView", models.checkpointViewSchema],
  ["DeploymentList", deployments.deploymentListSchema],
  ["DeploymentView", deployments.deploymentViewSchema],
  ["EndpointList", endpoints.endpointListSchema],
  ["EndpointView", endpoints.endpointViewSchema],
  ["Error", errors.errorBodySchema],
  ["FleetDetails", fleetDetails.fleetDetailsSchema],
  ["FleetEndpointView", fleetDetails.fleetEndpointViewSchema],
  ["FleetGenerationView", fleetDetails.fleetGenerationViewSchema],
  ["FleetMemberView", fleetDetails.fleetMemberViewSchema],
  ["FleetModelGenerationView", fleets.fleetModelGenerationViewSchema],
  ["FleetNeed", fleetDetails.fleetNeedSchema],
  ["FleetNeeds", fleetDetails.fleetNeedsSchema],
  ["FleetNeedsList", fleetDetails.fleetNeedsListSchema],
  ["FleetPreviewed", fleetDetails.fleetPreviewedSchema],
  ["FleetRobotCounts", fleets.fleetRobotCountsSchema],
  ["FleetSelectionView", fleetDetails.fleetSelectionViewSchema],
  ["FleetStatus", fleets.fleetStatusSchema],
  ["FleetUpdateView", fleets.fleetUpdateViewSchema],
  ["FleetView", fleets.fleetViewSchema],
  ["HTTPValidationError", errors.validationErrorBodySchema],
  ["LoginDecided", logins.loginDecidedSchema],
  ["LoginPolled", logins.loginPolledSchema],
  ["LoginStarted", logins.loginStartedSchema],
  ["LoginToken", logins.loginTokenSchema],
  ["ModelList", models.modelListSchema],
  ["ModelView", models.modelViewSchema],
  ["PreviewedRobot", fleetDetails.previewedRobotSchema],
  ["ReadinessEstimate", fleets.readinessEstimateSchema],
  ["ReadinessMode", fleets.readinessModeSchema],
  ["Refusal", refusals.refusalSchema],
  ["RefusalList", refusals.refusalListSchema],
  ["RegionList", endpoints.regionListSchema],
  ["RegistrationList", registrations.registrationListSchema],
  ["RegistrationRecord", registrations.registrationRecordSchema],
  ["RegistrationSummary", registrations.registrationSummarySchema],
  ["RegistrationView", registrations.registrationViewSchema],
  ["RobotHistory", registrations.robotHistorySchema],
  ["RobotSetupAnswer", robotViews.robotSetupAnswerSchema],
  ["RobotView", robotViews.robotViewSchema],
  ["SessionEnded", logins.sessionEndedSchema],
  ["SessionView", logins.sessionViewSchema],
  ["UsageList", usage.usageListSchema],
  ["UsageRecord", usage.usageRecordSchema],
  ["UsageSum", usage.usageSumSchema],
  ["UsageSummary", usage.usageSummarySchema],
  ["ValidationError", errors.validationErrorSchema],
  ["WaitingCounts", fleetDetails.waitingCountsSchema],
]);

/** Text that PostgreSQL cannot hold is refused on every store. */
const WITHOUT_NUL = "^[^\\u0000]*$";
const MOMENT = /(?:_at|^period_(?:start|end))$/;

/** The schemas of all bodies, by name, made from those that check requests and build answers. */
export function componentSchemas(): Readonly<Record<string, JsonSchema>> {
  const requests = describe(REQUESTS, "input", (name, schema, source) => {
    // The format says it better than the pattern of the library.
    if (schema["format"] === "date-time") delete schema["pattern"];
    else if (isContractText(source)) schema["pattern"] ??= WITHOUT_NUL;
    addDescriptions(name, schema);
  });
  const answers = describe(ANSWERS, "output", (name, schema) => {
    sayMoments(schema);
    addDescriptions(name, schema);
  });
  const all = { ...requests, ...answers, RobotView: withRobotMembers(answers["RobotView"] ?? {}) };
  return Object.fromEntries(Object.entries(all).toSorted(([left], [right]) => (left < right ? -1 : 1)));
}

/** Where the schema of a body stands; of a list of such bodies, the list. */
export function schemaReference(schema: z.ZodType): JsonSchema {
  for (const [name, known] of [...REQUESTS, ...ANSWERS]) {
    if (known === schema) return { $ref: referenceTo(name) };
  }
  if (schema instanceof z.ZodArray && schema.element instanceof z.ZodType) {
    return { type: "array", items: schemaReference(schema.element) };
  }
  throw new Error("A body of the contract has no name in the interface description");
}

export function referenceTo(name: string): string {
  return `#/components/schemas/${name}`;
}

type Mutable = Record<string, unknown>;

function describe(
  named: ReadonlyMap<string, z.ZodType>,
  io: "input" | "output",
  amend: (name: string | undefined, schema: Mutable, source: z.core.$ZodType) => void,
): Readonly<Record<string, JsonSchema>> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of named) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    io,
    uri: referenceTo,
    // Only members that a transformation fills in; withRobotMembers says what they are.
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => amend(registry.get(zodSchema)?.id, jsonSchema, zodSchema),
  });
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { $schema: _dialect, $id: _address, ...schema }]) => [name, schema]),
  );
}

/** The words of the service document, at the member they are about. */
function addDescriptions(name: string | undefined, schema: Mutable): void {
  const words = name === undefined ? undefined : DESCRIPTIONS[name];
  if (words === undefined) return;
  if (words.description !== undefined) schema["description"] = words.description;
  for (const [member, keywords] of Object.entries(words.members ?? {})) {
    const { properties } = schema;
    const described = isRecord(properties) ? properties[member] : undefined;
    if (!isRecord(described)) throw new Error(`${name} has no member ${member} to describe`);
    Object.assign(described, keywords);
  }
}

/** Made by `text` of the contract, which attaches metadata to all it makes. */
function isContractText(schema: z.core.$ZodType): boolean {
  return schema instanceof z.ZodString && z.globalRegistry.has(schema);
}

function sayMoments({ properties }: Mutable): void {
  if (!isRecord(properties)) return;
  for (const [member, schema] of Object.entries(properties)) {
    if (MOMENT.test(member) && isRecord(schema)) schema["format"] = "date-time";
  }
}

/** Our service sends both always; what it makes of an absent one is a transformation, which JSON Schema cannot say. */
function withRobotMembers(schema: JsonSchema): JsonSchema {
  const { properties } = schema;
  const site = { type: ["string", "null"] };
  const labels = { type: "object", additionalProperties: { type: "string" } };
  return { ...schema, properties: { ...(isRecord(properties) ? properties : {}), site, labels } };
}

function isRecord(value: unknown): value is Mutable {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
