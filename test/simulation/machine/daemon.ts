import { type Agent, createAgent } from "../../../src/agent/agent.ts";
import { resolveFolders } from "../../../src/agent/configuration/folders.ts";
import { readConfigurationNow } from "../../../src/agent/configuration/documents.ts";
import { holdPath } from "../../../src/agent/hold.ts";
import { connect } from "../../../src/agent/registration/connect.ts";
import { openState } from "../../../src/agent/registration/registration.ts";
import { trackFiles } from "../../../src/platform/files/pending-files.ts";
import type { Transport } from "../../../src/client/transport/transport.ts";
import type { Log } from "../../../src/platform/log/log.ts";
import type { Machine } from "../../../src/platform/machine.ts";
import { AGENT_USER, PLACES } from "./robot-files.ts";

/** How a run of the daemon ended on its own. */
export type Ending =
  | { readonly kind: "stopped" }
  /** It failed to start: invalid configuration or unreadable state. The service manager restarts it. */
  | { readonly kind: "refused-to-start"; readonly why: string }
  /** It threw. */
  | { readonly kind: "crashed"; readonly error: unknown };

export interface DaemonOptions {
  readonly machine: Machine;
  readonly log: Log;
  readonly process_id: number;
  openTransport(): Transport;
  onAgent(agent: Agent): void;
  onEnd(ending: Ending): void;
}

const VERSION = "0.0.0-simulated";

/** Runs the daemon as `robot-policy-agent run` does (src/agent/commands/run.ts), without lock and control socket. */
export function runDaemon(options: DaemonOptions): void {
  run(options).then(options.onEnd, (error: unknown) => options.onEnd({ kind: "crashed", error }));
}

async function run({
  machine: whole,
  log,
  process_id: processId,
  openTransport,
  onAgent,
}: DaemonOptions): Promise<Ending> {
  const pending = trackFiles(whole.files, whole.clock);
  const machine = { ...whole, files: pending.files };
  const folders = resolveFolders({ config: PLACES.configuration, stateDir: PLACES.state_directory }, {});
  const configuration = await readConfigurationNow(machine, folders.configPath);
  const initial = configuration.reading.value;
  if (initial === null)
    return { kind: "refused-to-start", why: configuration.reading.findings.map(({ id }) => id).join(" ") };
  const state = await openState(machine, folders.stateDirectory, true);
  if (state.kind === "problem") return { kind: "refused-to-start", why: state.problem.code };

  const agent = createAgent({
    machine,
    pending,
    log,
    version: VERSION,
    processId,
    stateDirectory: folders.stateDirectory,
    holdPath: holdPath(folders),
    configuration,
    initial,
    registration: state.registration,
    connect: (current, ownCredential) =>
      connect(
        current,
        { machine, folders, environment: {}, userId: AGENT_USER, version: VERSION, openTransport },
        ownCredential,
      ),
  });
  await agent.prepare();
  machine.notify.ready("Starting");
  if (state.setAside !== null) log.warn("state-set-aside", { path: state.setAside });
  onAgent(agent);
  await agent.run();
  return { kind: "stopped" };
}
