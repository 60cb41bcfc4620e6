import { beyondSpec } from "../../api/api.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import { makeConfirmedChange } from "../confirmed-change.ts";
import type { OperatorContext } from "../context.ts";
import type { OperatorFlags } from "../flags.ts";
import { withService } from "../operator.ts";
import { refusePathParameter, refuseUnknown } from "../refuse.ts";
import { noteEnrolment, PENDING_REMEDY } from "./words.ts";

/** `robots deny CODE`: the computer that shows the code gets no credential. Shows which one it is, and asks once at a terminal. */
export async function robotsDeny(
  flags: OperatorFlags,
  context: OperatorContext,
  code: string | undefined,
): Promise<ExitCode> {
  const { terminal, machine } = context;
  if (code === undefined || refusePathParameter(code, terminal)) return EXIT.usage;
  return withService(flags, context, async (service) => {
    return makeConfirmedChange(
      service,
      {
        row: beyondSpec.denyEnrolment,
        input: { body: { user_code: code } },
        async explain() {
          const found = await service.call(beyondSpec.getEnrolment, { parameters: { user_code: code } });
          // Without a view there is nothing to show: the code may be approved already, or the denial reports the failure.
          if (found.kind === "ok") noteEnrolment(found.value.value, terminal, machine.clock.wallMs());
          return "Deny it?";
        },
        missing: ["does not deny enrolments", "do not approve the code: it expires within minutes"],
        done: (denied) =>
          `${denied.user_code} is denied: the computer that asked to be ${denied.requested_name} is told so.`,
        refused: (failure) =>
          failure.kind === "refused" && failure.status === 404
            ? refuseUnknown(failure.detail, PENDING_REMEDY, terminal)
            : null,
      },
      flags,
      context,
    );
  });
}
