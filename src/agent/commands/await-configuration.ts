import type { AgentConfiguration } from "../configuration/configuration.ts";
import type { DocumentInput } from "../configuration/document-input.ts";
import { documentFindings } from "../findings.ts";
import type { CommandContext } from "./context.ts";
import { showFindings } from "./show-findings.ts";

/** How often a configuration that cannot be used is looked at again; no more than a stat while nobody edits it. */
const LOOK_AGAIN_MS = 2000;

/**
 * The configuration to start with. Where there is none to work with, says why, once for each edit.
 *
 * Under a service manager it is waited for: an agent that ended would be started again and again, with the same words in the journal
 * each time, and would have to be started by hand once the file is right. Elsewhere somebody sits at the terminal.
 *
 * @returns null where nobody waits, and when the agent is stopped.
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
      // Ready is what it is: nothing that waits for this agent has a reason to wait on.
      machine.notify.ready(`Configuration is invalid; robot-policy-agent check says why: ${configuration.path}`);
    }
    machine.notify.watchdog();
    await machine.clock.sleep(lookAgainMs, signal).catch(() => {});
    await configuration.refresh(true);
  }
  return configuration.reading.value;
}
