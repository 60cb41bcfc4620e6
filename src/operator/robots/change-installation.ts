import { beyondSpec } from "../../api/api.ts";
import type { InstallationChange } from "../../api/installations.ts";
import { RECOVERIES } from "../../api/installations.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import { relativeTime } from "../../platform/text/relative-time.ts";
import { confirmationPrompt, refusedBy } from "../confirm.ts";
import type { OperatorContext } from "../context.ts";
import { ENROLL_COMMAND } from "../enrolments/words.ts";
import type { OperatorFlags } from "../flags.ts";
import { refuse, refuseUsage } from "../refuse.ts";
import { withNamed } from "../with-named.ts";
import type { FoundInstallation } from "./installation.ts";
import { findInstallation } from "./installation.ts";

/** `robots thaw ROBOT`: lets a frozen robot work again, after a false alarm. Asks once at a terminal. */
export async function robotsThaw(
  flags: OperatorFlags,
  context: OperatorContext,
  name: string | undefined,
): Promise<ExitCode> {
  const { terminal, machine } = context;
  return changeInstallation({ frozen: false }, flags, context, name, {
    isDone: ({ installation }) => installation.value.state === "active",
    done: (robot) => `${robot} is not frozen; its computer works with its credential.`,
    async refused({ robot, installation: { value } }) {
      const prompt = confirmationPrompt(flags, context);
      if (prompt === null) return null;
      const seen =
        value.last_seen_at === null ? "" : `, seen ${relativeTime(value.last_seen_at, machine.clock.wallMs())}`;
      terminal.note(
        `${robot.name} is frozen, because two computers used its identity${seen} from ${value.last_address ?? "an unknown address"}.`,
      );
      terminal.note("False alarms: two agents on one computer, or a disk set back and then forward again.");
      terminal.note("If two computers really have it, it freezes again: enroll the right one again instead.");
      return refusedBy(prompt, "Thaw it?", terminal);
    },
  });
}

/** `robots allow-recovery ROBOT --times N`: lets a robot that was away for long renew its expired credential. */
export async function robotsAllowRecovery(
  flags: OperatorFlags,
  context: OperatorContext,
  name: string | undefined,
): Promise<ExitCode> {
  const times = /^\d{1,3}$/.test(flags.times ?? "") ? Number(flags.times) : Number.NaN;
  if (!(times <= RECOVERIES.maximum)) {
    const what =
      flags.times === undefined ? "--times is missing" : `--times '${flags.times}' is not a number of recoveries`;
    return refuseUsage(what, `give a number from 0 to ${RECOVERIES.maximum}: --times 5`, context.terminal);
  }
  return changeInstallation({ recoveries_remaining: times }, flags, context, name, {
    isDone: () => false,
    done: (robot) =>
      times === 0
        ? `${robot} may not renew an expired credential any more.`
        : `${robot} may renew an expired credential ${times === 1 ? "once" : `${times} times`}; its computer tries by itself, within minutes.`,
    refused: async () => null,
  });
}

interface Change {
  /** Whether there is nothing to change. */
  isDone(found: FoundInstallation): boolean;
  /** Printed for a person. */
  done(robot: string): string;
  /** Null where the operator agrees, or is not asked. */
  refused(found: FoundInstallation): Promise<ExitCode | null>;
}

async function changeInstallation(
  body: InstallationChange,
  flags: OperatorFlags,
  context: OperatorContext,
  name: string | undefined,
  change: Change,
): Promise<ExitCode> {
  const { terminal } = context;
  return withNamed(findInstallation, flags, context, name, async (service, found) => {
    const { robot, installation } = found;
    if (installation.value.state === "revoked") {
      const what = `the computer of ${robot.name} was replaced or removed`;
      const fix = `run this on its computer, and approve the code: ${ENROLL_COMMAND}`;
      return refuse({ code: "installation-revoked", what, fix }, EXIT.conflict, terminal);
    }
    const input = { parameters: { robot: robot.id }, body };
    if (flags.dryRun === true) return service.showRequest(beyondSpec.changeInstallation, input, flags.json === true);
    let { document } = installation;
    if (!change.isDone(found)) {
      const refused = await change.refused(found);
      if (refused !== null) return refused;
      const result = await service.call(beyondSpec.changeInstallation, input);
      if (result.kind !== "ok") return service.failed(result);
      ({ document } = result.value);
    }
    if (flags.json === true) terminal.json(document);
    else terminal.print(change.done(robot.name));
    return EXIT.ok;
  });
}
