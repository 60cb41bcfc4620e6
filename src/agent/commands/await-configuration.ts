import type { AgentConfiguration } from "../configuration/configuration.ts";
import type { DocumentInput } from "../configuration/document-input.ts";
import { documentFindings } from "../findings.ts";
import type { CommandContext } from "./context.ts";
import { showFindings } from "./show-findings.ts";

/** How often an invalid configuration is checked again; one stat while it is not edited. */
const LOOK_AGAIN_MS = 2000;

/**
 * The configuration to start with. Reports an invalid one, once for each edit.
 *
 * Under systemd, waits until it is valid: an agent that exits would be restarted with the same messages until systemd gives up. At a
 * terminal it does not wait.
 *
 * @returns null for an invalid configuration without systemd, and when the agent is stopped.
 */
export async function awaitConfiguration(
  configuration: DocumentInput<AgentConfiguration>,
  context: CommandContext,
): Promise<AgentConfiguration | null> {
  const { machine, signal, environment } = context;
  await configuration.refresh(false);
  const lookAgainMs = Math.min(LOOK_AGAIN_MS, (machine.notify.watchdogMs ?? Infinity) / 2);
  let shown = null;
  while (configuration.reading.value === null && !signal.aborted) {
    if (shown !== configuration.reading) {
      shown = configuration.reading;
      await showFindings(documentFindings(configuration), context);
      if ((environment["NOTIFY_SOCKET"] ?? "") === "") return null;
      // READY=1, because nothing that starts after this agent should wait for an edit.
      machine.notify.ready(`Configuration is invalid; robot-policy-agent check says why: ${configuration.path}`);
    }
    machine.notify.watchdog();
    await machine.clock.sleep(lookAgainMs, signal).catch(() => {});
    await configuration.refresh(true);
  }
  return configuration.reading.value;
}
