import { beyondSpec } from "../../api/api.ts";
import type { InstallationChange } from "../../api/installations.ts";
import { RECOVERIES } from "../../api/installations.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import { relativeTime } from "../../platform/text/relative-time.ts";
import type { Change } from "../change.ts";
import { makeChange } from "../change.ts";
import type { OperatorCommand } from "../context.ts";
import { ENROLL_COMMAND } from "../enrolments/words.ts";
import { withNamed } from "../operator.ts";
import { refuse, refuseUsage } from "../refuse.ts";
import type { Service } from "../service.ts";
import type { FoundInstallation } from "./installation.ts";
import { findInstallation } from "./installation.ts";

/** `robots thaw ROBOT`: lets a frozen robot work again, after a false alarm. Asks once at a terminal. */
export const robotsThaw: OperatorCommand = (flags, context, name) =>
  withNamed(findInstallation, flags, context, name, async (service, { robot, installation }) => {
    const { terminal } = service;
    const { state, last_seen_at: seenAt, last_address: address } = installation.value;
    const show = () => terminal.print(`${robot.name} is not frozen; its computer works with its credential.`);
    if (state === "active" && flags.dryRun !== true) return service.answer(installation.document, show);
    return changeInstallation(
      service,
      { robot, installation },
      { frozen: false },
      {
        explain() {
          const seen = seenAt === null ? "" : `, seen ${relativeTime(seenAt, service.nowMs())}`;
          const from = `${seen} from ${address ?? "an unknown address"}`;
          terminal.note(`${robot.name} is frozen, because two computers used its identity${from}.`);
          terminal.note("False alarms: two agents on one computer, or a disk set back and then forward again.");
          terminal.note("If two computers really have it, it freezes again: enroll the right one again instead.");
          return "Thaw it?";
        },
        show,
      },
    );
  });

/** `robots allow-recovery ROBOT --times N`: lets a robot that was away for long renew its expired credential. */
export const robotsAllowRecovery: OperatorCommand = async (flags, context, name) => {
  const { terminal } = context;
  const times = /^\d{1,3}$/.test(flags.times ?? "") ? Number(flags.times) : Number.NaN;
  if (!(times <= RECOVERIES.maximum)) {
    const what =
      flags.times === undefined ? "--times is missing" : `--times '${flags.times}' is not a number of recoveries`;
    return refuseUsage(what, `give a number from 0 to ${RECOVERIES.maximum}: --times 5`, terminal);
  }
  return withNamed(findInstallation, flags, context, name, (service, found) =>
    changeInstallation(
      service,
      found,
      { recoveries_remaining: times },
      {
        show() {
          const { name: robot } = found.robot;
          const often = times === 1 ? "once" : `${times} times`;
          terminal.print(
            times === 0
              ? `${robot} may not renew an expired credential any more.`
              : `${robot} may renew an expired credential ${often}; its computer tries by itself, within minutes.`,
          );
        },
      },
    ),
  );
};

async function changeInstallation(
  service: Service,
  { robot, installation }: FoundInstallation,
  body: InstallationChange,
  change: Pick<Change<unknown>, "explain" | "show">,
): Promise<ExitCode> {
  if (installation.value.state === "revoked") {
    const what = `the computer of ${robot.name} was replaced or removed`;
    const fix = `run this on its computer, and approve the code: ${ENROLL_COMMAND}`;
    return refuse({ code: "installation-revoked", what, fix }, EXIT.conflict, service.terminal);
  }
  const input = { parameters: { robot: robot.id }, body };
  return makeChange(service, { row: beyondSpec.changeInstallation, input, ...change });
}
