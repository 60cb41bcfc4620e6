import { beyondSpec, operations } from "../../api/api.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { isUnknownOperation } from "../failure.ts";
import { type Fact, showFacts } from "../lists/show-list.ts";
import type { Service } from "../service.ts";
import { timeUntil } from "../times.ts";

/** Shows the chosen service, the credential, and its organization. */
export async function whoami(service: Service): Promise<ExitCode> {
  const result = await service.call(beyondSpec.getSession, {});
  if (result.kind !== "ok") return isUnknownOperation(result) ? showAcceptance(service) : service.failed(result);
  const { value, document } = result.value;
  const { active_organization: organization, credential } = value;
  return service.answer({ ...whereOf(service), session: document }, () =>
    showFacts(service.terminal, [
      ...placeFacts(service),
      ["organization", `${organization.name} (${organization.id})`],
      ["role", organization.role],
      ["id", credential?.id ?? ""],
      ["may", credential?.scopes === null ? "do everything" : (credential?.scopes?.join(" ") ?? "")],
      ["expires", timeUntil(credential?.expires_at, service.now())],
    ]),
  );
}

/** For a service with only the documented operations: shows only whether it accepts the credential. */
async function showAcceptance(service: Service): Promise<ExitCode> {
  const result = await service.call(operations.listRobots, { query: { limit: 1 } });
  if (result.kind !== "ok") return service.failed(result);
  return service.answer({ ...whereOf(service), session: null }, () => {
    showFacts(service.terminal, placeFacts(service));
    service.terminal.note("The service accepts the credential; it does not say whose it is.");
  });
}

function placeFacts({ chosen }: Service): readonly Fact[] {
  return [
    ["service", chosen.baseUrl],
    ["context", chosen.context?.name ?? ""],
    ["credential", chosen.credential.name],
  ];
}

function whereOf({ chosen }: Service) {
  return { url: chosen.baseUrl, context: chosen.context?.name ?? null, credential: chosen.credential.source };
}
