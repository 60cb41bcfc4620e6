import type { ServiceClient } from "../../client/client.ts";
import type { Credential } from "../../client/credential.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { CommandContext } from "../commands/context.ts";
import type { AgentConfiguration } from "../configuration/configuration.ts";
import type { Verdict as Confirmation } from "../registration/confirmation.ts";
import { askWhetherHeld } from "../registration/confirmation.ts";
import type { Registration } from "../registration/record.ts";
import { askService } from "./asking.ts";
import type { Verdict } from "./check.ts";
import { fail, ok, skip, warn } from "./check.ts";

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
  return judgeConfirmation(await askService(context, service, credential, ask), registration.request.name);
}

const REGISTER = "the running agent registers again within a day; at once: robot-policy-agent --setup";

function renameOne(name: string): string {
  return `if two computers have the name ${name}, give one of them another`;
}

function judgeConfirmation(confirmation: Confirmation, name: string): Verdict {
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
      const what = `another registration replaced this robot's at ${confirmation.at}`;
      return fail(EXIT.conflict, what, `${renameOne(name)}; ${REGISTER}`);
    }
    case "unknown":
      return warn(`the service does not confirm the registration: ${confirmation.detail}`, REGISTER);
    case "unanswered":
      return warn(`the service could not be asked: ${confirmation.detail}`, "ask again in a minute");
  }
}
