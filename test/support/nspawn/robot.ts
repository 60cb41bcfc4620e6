/** A robot computer under Debian's systemd: the agent is installed from its package, provisioned, and runs as its unit. */
import { askDaemon } from "../../../src/agent/control/client.ts";
import { isStatusDocument, type StatusDocument } from "../../../src/agent/status.ts";
import type { Executed } from "../programs/execute.ts";
import { eventually } from "../robot/robot.ts";
import { PATIENCE_MS } from "../run/patience.ts";
import type { Shell } from "./journal.ts";
import { type Computer, type ComputerOptions, createComputer } from "./nspawn.ts";
import { type DebianPackage, PACKAGE } from "./package.ts";
import type { SiteService } from "./service.ts";
import type { ScriptOptions } from "./session.ts";
import type { Site } from "./site.ts";

export const UNIT = `${PACKAGE}.service`;
export const STATE_FILE = `/var/lib/${PACKAGE}/registration.json`;
export const CONFIGURATION_FILE = `/etc/${PACKAGE}/config.yaml`;
export const MANIFEST_FILE = `/etc/${PACKAGE}/robot-manifest.yaml`;
const CONTROL_SOCKET = `/run/${PACKAGE}/control.sock`;
export const KEY_FILE = `/etc/${PACKAGE}/api-key`;
/** The robot's configuration files, in digest order. */
export const ROBOT_FILES = ["/opt/yam/configs/yam_left.yaml", "/opt/yam/configs/yam_right.yaml"];

const INSTALL_LIMIT_MS = 120_000;

export interface RobotComputer extends Computer {
  /** Runs `robot-policy-agent COMMAND` as root. */
  agent(commandLine: string): Promise<Executed>;
  /** Reads a property of the unit from systemd. */
  show(property: string): Promise<string>;
  /** Status of the running agent. */
  status(): Promise<StatusDocument>;
  /** Resolves with the first status of the running agent that meets the condition. */
  until(condition: (status: StatusDocument) => boolean): Promise<StatusDocument>;
  /** `sha256sum … | cut -c1-64 | sha256sum` over the robot's files. */
  digest(): Promise<string>;
  /** Resolves when the journal contains such a message of the unit. Messages arrive shortly after the event. */
  wroteToJournal(message: RegExp): Promise<void>;
  /** Resolves when the unit is active with another process than this one. */
  restartedAfter(processId: string): Promise<void>;
}

export async function createRobotComputer(site: Site, options: ComputerOptions): Promise<RobotComputer> {
  const computer = await createComputer(site, options);
  // Reads the socket from this process: starting a Node program for each poll would take most of the test's time.
  const askStatus = async () => {
    const answer = await askDaemon(computer.live(CONTROL_SOCKET), "GET", "/status", new AbortController().signal);
    return answer.kind === "answer" && isStatusDocument(answer.body) ? answer.body : undefined;
  };
  const show = (property: string) => computer.ask(`systemctl show --value -p ${property} ${UNIT}`);
  return {
    ...computer,
    agent: (commandLine) => computer.run(`${PACKAGE} ${commandLine}`, { may_fail: true }),
    show,
    status: () => eventually(askStatus, "an answer from the agent"),
    until: (condition) => untilStatus(askStatus, condition),
    async digest() {
      const output = await computer.ask(`sha256sum ${ROBOT_FILES.join(" ")} | cut -c1-64 | sha256sum`);
      return `sha256:${output.slice(0, 64)}`;
    },
    wroteToJournal: (message) => wroteToJournal(computer, UNIT, message),
    async restartedAfter(processId) {
      await untilStatus(askStatus, ({ daemon }) => `${daemon?.process_id}` !== processId);
      await eventually(async () => {
        // One query for both values: the old process stays "active" for a while.
        const output = await computer.ask(`systemctl show --value -p ActiveState -p MainPID ${UNIT} | sort`);
        const [other, state] = output.split("\n");
        return state === "active" && other !== "0" && other !== processId ? true : undefined;
      }, "a new process of the agent to be active");
    },
    [Symbol.asyncDispose]: () => computer[Symbol.asyncDispose](),
  };
}

async function untilStatus(
  askStatus: () => Promise<StatusDocument | undefined>,
  condition: (status: StatusDocument) => boolean,
): Promise<StatusDocument> {
  let last: StatusDocument | undefined;
  try {
    return await eventually(async () => {
      last = await askStatus();
      return last !== undefined && condition(last) ? last : undefined;
    }, "the awaited status");
  } catch (error) {
    throw new Error(`${String(error)}\nlast status: ${JSON.stringify(last, null, 2)}`, { cause: error });
  }
}

/** Resolves when the shell condition holds. Polls inside the computer, and slowly, because each poll starts programs. */
export async function untilTrue(computer: Shell, condition: string): Promise<void> {
  await computer.run(`until ${condition}; do sleep 0.1; done`, { limitMs: PATIENCE_MS });
}

/** Resolves when the journal contains such a message of the unit. */
export async function wroteToJournal(computer: Shell, unit: string, message: RegExp): Promise<void> {
  const look = async () => message.test(await computer.ask(`journalctl -u ${unit} -o cat --no-pager`)) || undefined;
  await eventually(look, `a message ${String(message)} in the journal`);
}

/** Installs a package from the disk layer of the computer. */
export function installPackage(computer: Shell, { path }: DebianPackage, options?: ScriptOptions): Promise<Executed> {
  return computer.run(`dpkg --install ${path}`, { limitMs: INSTALL_LIMIT_MS, ...options });
}

/** Writes the configuration and the manifest by `init`, the key, and the robot's own files. Registers nothing. */
export async function provision(computer: Shell, service: SiteService): Promise<void> {
  for (const path of ROBOT_FILES) await computer.write(path, `# ${path}\noffsets: [0.0, 0.1, -0.2]\n`);
  await computer.write(`/etc/${PACKAGE}/site-ca.pem`, service.ca);
  const files = ROBOT_FILES.map((path) => `--file ${path}`).join(" ");
  await computer.run(
    `${PACKAGE} init --force --no-test --url ${service.url} --region eu-central-1 --type yam.bimanual-joint-position.v1 ${files}
    sed -i 's|^service:|service:\\n  ca_file: /etc/${PACKAGE}/site-ca.pem|' ${CONFIGURATION_FILE}`,
  );
  await putKey(computer, service.key);
}

/** Replaces the key file by rename, as the documentation of `robot-policy-agent` says. */
export async function putKey(computer: Shell, key: string): Promise<void> {
  await computer.run(
    `umask 077; cat >${KEY_FILE}.new; chown ${PACKAGE}: ${KEY_FILE}.new; mv ${KEY_FILE}.new ${KEY_FILE}`,
    { input: `${key}\n` },
  );
}
