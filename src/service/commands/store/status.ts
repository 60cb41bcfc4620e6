import { isoTime } from "../../../platform/clock.ts";
import { EXIT, type ExitCode } from "../../../platform/terminal.ts";
import { type LimitMet, listLimitsMet } from "../../kernel/store/limits-met.ts";
import { readBelongings } from "../../organizations/queries.ts";
import type { CommandContext } from "../command-context.ts";
import { shownTime } from "../shown-time.ts";
import type { CommandFlags } from "./locate-store.ts";
import { withStore } from "./with-store.ts";

/** Maximum number of limits in the answer. */
const LIMITS_SHOWN = 20;

/** `status`: what each organization has, and who reached limits recently. Services write that to the store every few seconds. */
export async function status(flags: CommandFlags, { terminal }: CommandContext): Promise<ExitCode> {
  return withStore(flags, terminal, async ({ store, machine }) => {
    const nowMs = machine.clock.wallMs();
    const organizations = await readBelongings(store.reader, isoTime(nowMs));
    const limitsMet = await listLimitsMet(store.reader, nowMs, LIMITS_SHOWN);
    if (flags.json === true) {
      terminal.json({ organizations, limits_met: limitsMet });
      return EXIT.ok;
    }
    terminal.table(
      ["ORGANIZATION", "ROBOTS", "KEYS", "ID"],
      organizations.map(({ name, robots, api_keys: apiKeys, id }) => [name, String(robots), String(apiKeys), id]),
    );
    if (limitsMet.length === 0) {
      terminal.note("Nobody met a limit in the last 7 days.");
      return EXIT.ok;
    }
    terminal.print("");
    const headers = ["LIMIT", "WHO", "ORGANIZATION", "TIMES", "SINCE", "LAST"];
    terminal.table(headers, limitsMet.map(toCells), ["LIMIT", "WHO"]);
    return EXIT.ok;
  });
}

function toCells(met: LimitMet): readonly string[] {
  const { limit_name: limitName, party, label, organization, count } = met;
  const who = label === null ? party : `${label} (${party})`;
  return [limitName, who, organization ?? "-", String(count), shownTime(met.first_at), shownTime(met.last_at)];
}
