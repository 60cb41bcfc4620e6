import { beyondSpec } from "../../api/api.ts";
import { type InstallationChange, type InstallationView, RECOVERIES } from "../../api/installations.ts";
import type { RobotView } from "../../api/robot-views.ts";
import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import { ENROLL_COMMAND, THAWING } from "../../views/computers.ts";
import { type Change, makeChange } from "../change.ts";
import { command, type OperatorRow } from "../command.ts";
import { isNothingNamed } from "../failure.ts";
import { find } from "../find.ts";
import { CHANGE, DRY_RUN, wholeNumber } from "../flags.ts";
import { refuse } from "../refuse.ts";
import type { Answer, Service } from "../service.ts";
import { timeAgo } from "../times.ts";
import { ROBOT } from "./find.ts";

const RECOVERY = {
  times: wholeNumber("<number>", "how often, 0 to 100; restarts the recovery window", RECOVERIES, {
    required: true,
    place: "recoveries_remaining",
  }),
  ...DRY_RUN,
};

/** The computers that are enrolled as robots. */
export const installationCommands: readonly OperatorRow[] = [
  command({
    name: "robots thaw",
    summary: "let a robot that was frozen by a false alarm work again",
    argument: "ROBOT",
    flags: CHANGE,
    examples: ["robot-policy robots thaw arm-7"],
    async run(service, _flags, name) {
      const found = await findInstallation(service, name);
      return typeof found === "number" ? found : thaw(service, found);
    },
  }),
  command({
    name: "robots allow-recovery",
    summary: "let a robot that was away for long renew its expired credential",
    argument: "ROBOT",
    flags: RECOVERY,
    examples: ["robot-policy robots allow-recovery arm-7 --times 5"],
    async run(service, { times = 0 }, name) {
      const found = await findInstallation(service, name);
      return typeof found === "number" ? found : allowRecovery(service, found, times);
    },
  }),
];

/** The installation of a robot, and the service's answer. */
interface FoundInstallation {
  readonly robot: RobotView;
  readonly installation: Answer<InstallationView>;
}

/** Finds the installation of a robot by the robot's name or id. @returns an exit code after reporting that there is none. */
async function findInstallation(service: Service, name: string): Promise<FoundInstallation | ExitCode> {
  const found = await find(service, ROBOT, name);
  if (typeof found === "number") return found;
  const { value: robot } = found;
  const result = await service.call(beyondSpec.getInstallation, { parameters: { robot: robot.id } });
  if (result.kind === "ok") return { robot, installation: result.value };
  if (!isNothingNamed(result)) return service.failed(result);
  const what = `no computer was ever enrolled as ${robot.name}`;
  const fix = `run this on the robot, and approve its code: ${ENROLL_COMMAND}`;
  return refuse({ code: "never-enrolled", what, fix }, EXIT.rejected, service.terminal);
}

/** Lets a frozen robot work again, after a false alarm. */
async function thaw(service: Service, found: FoundInstallation): Promise<ExitCode> {
  const { terminal } = service;
  const { robot, installation } = found;
  const { state, last_seen_at: seenAt, last_address: address } = installation.value;
  const show = () => terminal.print(`${robot.name} is not frozen; its computer works with its credential.`);
  if (state === "active" && service.flags.dryRun !== true) return service.answer(installation.document, show);
  const explain = () => {
    const seen = seenAt === null ? "" : `, seen ${timeAgo(seenAt, service.now())}`;
    const from = `${seen} from ${address ?? "an unknown address"}`;
    terminal.note(`${robot.name} is frozen, because two computers used its identity${from}.`);
    for (const sentence of THAWING) terminal.note(sentence);
    return "Thaw it?";
  };
  return changeInstallation(service, found, { frozen: false }, { explain, show });
}

/** Lets a robot that was away for long renew its expired credential. */
function allowRecovery(service: Service, found: FoundInstallation, times: number): Promise<ExitCode> {
  const { name } = found.robot;
  const often = times === 1 ? "once" : `${times} times`;
  const text =
    times === 0
      ? `${name} may not renew an expired credential any more.`
      : `${name} may renew an expired credential ${often}; its computer tries by itself, within minutes.`;
  const show = () => service.terminal.print(text);
  return changeInstallation(service, found, { recoveries_remaining: times }, { show });
}

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
