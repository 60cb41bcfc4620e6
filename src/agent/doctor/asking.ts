import { serviceKeyOffset } from "../../api/wire/service-key.ts";
import { regionListSchema } from "../../api/endpoints.ts";
import { operationUrl } from "../../client/address.ts";
import { readAnswer } from "../../client/answer.ts";
import { createClient, RECORD_LIMIT_BYTES, type ServiceClient } from "../../client/client.ts";
import type { Credential } from "../../client/credential.ts";
import { Secret } from "../../client/secret.ts";
import { sendRequest, type ServiceAccess } from "../../client/send-request.ts";
import { nearest } from "../../manifest/nearest.ts";
import { REGION_FORM } from "../../manifest/registered-text.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { CommandContext } from "../commands/context.ts";
import type { AgentConfiguration } from "../configuration/configuration.ts";
import type { ServiceConfiguration } from "../configuration/keys.ts";
import { REGION_LIMIT } from "../configuration/readers.ts";
import { askWhetherHeld, type Verdict as Confirmation } from "../registration/confirmation.ts";
import { accessTo, openNetwork } from "../registration/connect.ts";
import type { Registration } from "../registration/record.ts";
import { fail, type Limit, ok, skip, type Verdict, warn } from "./check.ts";

/** Sends requests to the service, and closes the connections afterwards. */
export async function withAccess<T>(
  { machine, environment, version }: CommandContext,
  service: ServiceConfiguration,
  send: (access: ServiceAccess) => Promise<T>,
): Promise<T> {
  const transport = openNetwork(service, environment, machine);
  try {
    return await send(accessTo(service, { transport, machine, version }));
  } finally {
    await transport.close();
  }
}

/** Calls the service with this credential. */
export function askService<T>(
  context: CommandContext,
  service: ServiceConfiguration,
  credential: Credential,
  ask: (client: ServiceClient) => Promise<T>,
): Promise<T> {
  return withAccess(context, service, (access) => ask(createClient({ ...access, credential: async () => credential })));
}

/** Bounds the list for a person to choose from. */
const REGIONS_LIMIT = 100;

const UNKNOWN_REGIONS = skip("the service does not tell its regions");

/** No other check depends on this one, so no answer means skip. */
export function regionLimit({ service }: AgentConfiguration): Limit {
  return { limitMs: service.request_timeout_s * 1000, late: UNKNOWN_REGIONS };
}

/** Checks that the service has an endpoint in the robot's region. @param credential none is needed; a service may want one. */
export async function checkRegion(
  context: CommandContext,
  service: ServiceConfiguration,
  region: string,
  credential: Credential | null,
  signal: AbortSignal,
): Promise<Verdict> {
  const url = operationUrl(service.url, "/v1/regions", {});
  const request = { method: "GET", url, body: null, answerLimitBytes: RECORD_LIMIT_BYTES } as const;
  const secret = credential?.secret ?? null;
  const sent = await withAccess(context, service, (access) => sendRequest(access, request, secret, signal));
  if (sent.kind === "unreachable") return UNKNOWN_REGIONS;
  const reading = { schema: regionListSchema, url, wallMs: sent.wallMs, secret: secret ?? new Secret("") };
  const result = readAnswer(sent.answer, reading);
  if (result.kind !== "ok") return UNKNOWN_REGIONS;
  return judgeRegion(region, result.value.regions);
}

/** @param listed the service's regions; those with an invalid format are ignored. */
export function judgeRegion(region: string, listed: readonly string[]): Verdict {
  const regions = listed.filter(isRegion).slice(0, REGIONS_LIMIT);
  if (regions.length === 0) return skip("the service has no endpoints yet");
  if (listed.includes(region)) return ok(`the service has an endpoint in ${region}`);
  return { ...warn(noEndpointIn(region, regions), chooseAmong(regions)), regions };
}

export function chooseAmong(regions: readonly string[]): string {
  return `write one of these as robot.region: ${regions.join(", ")}`;
}

export function noEndpointIn(region: string, regions: readonly string[]): string {
  const meant = nearest(region, regions);
  return `the service has no endpoint in the region ${region}${meant === undefined ? "" : ` (did you mean ${meant}?)`}`;
}

function isRegion(text: string): boolean {
  return text.length <= REGION_LIMIT && REGION_FORM.test(text) && serviceKeyOffset(text) === -1;
}

/** Checks that the service has the saved registration. */
export async function checkRegistration(
  context: CommandContext,
  { service }: AgentConfiguration,
  credential: Credential,
  registration: Registration | null,
  signal: AbortSignal,
): Promise<Verdict> {
  if (registration === null) return skip("nothing is registered yet");
  if (registration.service_url !== service.url) return skip(`registered at ${registration.service_url}`);
  const ask = (client: ServiceClient) => askWhetherHeld(client, registration, signal);
  return judgeConfirmation(await askService(context, service, credential, ask), registration);
}

const REGISTER = "the running agent registers again within a day; at once: robot-policy-agent --setup";

function renameOne(name: string): string {
  return `if two computers have the name ${name}, give one of them another`;
}

function judgeConfirmation(
  confirmation: Confirmation,
  { request: { name }, in_doubt: isInDoubt }: Registration,
): Verdict {
  switch (confirmation.kind) {
    case "held":
      if (confirmation.contestedSince !== null) {
        const what = `computers take turns registering ${name} since ${confirmation.contestedSince}`;
        return warn(what, renameOne(name));
      }
      return ok(`the service has the registration of ${name}`);
    case "lost":
      return fail(EXIT.failed, `the service lost the registration of ${name}: ${confirmation.detail}`, REGISTER);
    case "replaced": {
      if (isInDoubt) {
        const what = `the service has a registration of ${confirmation.at}, probably by this robot's last request, whose answer was lost`;
        return warn(what, "the running agent sends it again; at once: robot-policy-agent --setup");
      }
      const what = `another registration replaced this robot's at ${confirmation.at}`;
      return fail(EXIT.conflict, what, `${renameOne(name)}; ${REGISTER}`);
    }
    case "unknown":
      return warn(`the service does not confirm the registration: ${confirmation.detail}`, REGISTER);
    case "unanswered":
      return warn(`the service could not be asked: ${confirmation.detail}`, "ask again in a minute");
  }
}
