import { beyondSpec, operations } from "../../api/api.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import { relativeTime } from "../../platform/text/relative-time.ts";
import type { OperatorContext } from "../context.ts";
import { isUnknownOperation } from "../failure.ts";
import type { OperatorFlags } from "../flags.ts";
import type { Fact } from "../lists/show-facts.ts";
import { showFacts } from "../lists/show-facts.ts";
import { withService } from "../operator.ts";
import type { Service } from "../service.ts";

/** `whoami`: shows the chosen service, the credential, and its organization. */
export async function whoami(flags: OperatorFlags, context: OperatorContext): Promise<ExitCode> {
  const { terminal, machine } = context;
  return withService(flags, context, async (service) => {
    const result = await service.call(beyondSpec.getSession, {});
    if (result.kind !== "ok") {
      return isUnknownOperation(result) ? showAcceptance(service, flags, context) : service.failed(result);
    }
    const { value, document } = result.value;
    if (flags.json === true) {
      terminal.json({ ...whereOf(service), session: document });
      return EXIT.ok;
    }
    const { id, name, role } = value.active_organization;
    const { credential } = value;
    const expires = relativeTime(credential?.expires_at, machine.clock.wallMs());
    showFacts(
      [
        ...placeFacts(service),
        ["organization", `${name} (${id})`],
        ["role", role],
        ["id", credential?.id ?? ""],
        ["may", credential?.scopes === null ? "do everything" : (credential?.scopes?.join(" ") ?? "")],
        ["expires", expires],
      ],
      terminal,
    );
    return EXIT.ok;
  });
}

/** For a service with only the documented operations: shows only whether it accepts the credential. */
async function showAcceptance(service: Service, flags: OperatorFlags, context: OperatorContext): Promise<ExitCode> {
  const { terminal } = context;
  const result = await service.call(operations.listRobots, { query: { limit: 1 } });
  if (result.kind !== "ok") return service.failed(result);
  if (flags.json === true) terminal.json({ ...whereOf(service), session: null });
  else {
    showFacts(placeFacts(service), terminal);
    terminal.note("The service accepts the credential; it does not say whose it is.");
  }
  return EXIT.ok;
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
