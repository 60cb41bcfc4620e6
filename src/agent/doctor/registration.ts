import { createClient } from "../../client/client.ts";
import type { Credential } from "../../client/credential.ts";
import type { ServiceAccess } from "../../client/send-request.ts";
import { EXIT } from "../../platform/terminal.ts";
import { askWhetherHeld } from "../registration/confirmation.ts";
import type { Registration } from "../registration/registration.ts";
import { fail, ok, skip, type Verdict, warn } from "./check.ts";

const REGISTER = "the running agent registers again within a day; at once: robot-policy-agent --setup";

/** Checks that the service has the saved registration. */
export async function checkRegistration(
  access: ServiceAccess,
  credential: Credential | null,
  registration: Registration | null,
  signal: AbortSignal,
): Promise<Verdict> {
  if (credential === null || registration === null) return skip("there is no registration to ask for");
  if (registration.service_url !== access.baseUrl) return skip(`registered at ${registration.service_url}`);
  const client = createClient({ ...access, credential: async () => credential });
  const confirmation = await askWhetherHeld(client, registration, signal);
  const { name } = registration.request;
  const renameOne = `if two computers have the name ${name}, give one of them another`;
  switch (confirmation.kind) {
    case "held":
      if (confirmation.contestedSince === null) return ok(`has the registration of ${name}`);
      return warn(`computers take turns registering ${name} since ${confirmation.contestedSince}`, renameOne);
    case "lost":
      return fail(EXIT.failed, `the service lost the registration of ${name}: ${confirmation.detail}`, REGISTER);
    case "replaced": {
      if (registration.in_doubt) {
        const what = `the service has a registration of ${confirmation.at}, probably by this robot's last request, whose answer was lost`;
        return warn(what, "the running agent sends it again; at once: robot-policy-agent --setup");
      }
      const what = `another registration replaced this robot's at ${confirmation.at}`;
      return fail(EXIT.conflict, what, `${renameOne}; ${REGISTER}`);
    }
    case "unknown":
      return warn(`the service does not confirm the registration: ${confirmation.detail}`, REGISTER);
    case "unanswered":
      return warn(`the service could not be asked: ${confirmation.detail}`, "ask again in a minute");
  }
}
