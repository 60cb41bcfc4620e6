import { EXIT } from "../../../platform/terminal.ts";
import type { ExitCode, Terminal } from "../../../platform/terminal.ts";
import { listLimitsMet } from "../../kernel/store/limits-met.ts";
import type { LimitMet } from "../../kernel/store/limits-met.ts";
import { readBelongings } from "../../organizations/queries.ts";
import type { Belongings } from "../../organizations/queries.ts";
import { commandMachine } from "../command-machine.ts";
import type { CommandContext } from "../serve/serve.ts";
import { shownTime } from "../shown-time.ts";
import type { StoreFlags } from "./locate-store.ts";
import { withStore } from "./with-store.ts";

export interface StatusFlags extends StoreFlags {
  readonly json?: boolean;
}

/** Parties that are shown. */
const LIMITS_SHOWN = 20;

/** `status`: what each organization has, and who met limits lately. The services on the store write that down every few seconds. */
export async function status(flags: StatusFlags, { terminal }: CommandContext): Promise<ExitCode> {
  const machine = commandMachine();
  return withStore(flags, machine, terminal, async (store) => {
    const nowMs = machine.clock.wallMs();
    const organizations = await readBelongings(store.reader, new Date(nowMs).toISOString());
    const limitsMet = await listLimitsMet(store.reader, nowMs, LIMITS_SHOWN);
    if (flags.json === true) terminal.json({ organizations, limits_met: limitsMet });
    else show(organizations, limitsMet, terminal);
    return EXIT.ok;
  });
}

function show(organizations: readonly Belongings[], limitsMet: readonly LimitMet[], terminal: Terminal): void {
  terminal.table(
    ["ORGANIZATION", "ROBOTS", "KEYS", "ID"],
    organizations.map(({ name, robots, api_keys: apiKeys, id }) => [name, String(robots), String(apiKeys), id]),
  );
  if (limitsMet.length === 0) {
    terminal.note("Nobody met a limit in the last 7 days.");
    return;
  }
  terminal.print("");
  terminal.table(["LIMIT", "WHO", "ORGANIZATION", "TIMES", "SINCE", "LAST"], limitsMet.map(toCells), ["LIMIT", "WHO"]);
}

function toCells({
  limit_name: limitName,
  party,
  label,
  organization,
  count,
  first_at: firstAt,
  last_at: lastAt,
}: LimitMet): readonly string[] {
  const who = label === null ? party : `${label} (${party})`;
  return [limitName, who, organization ?? "-", String(count), shownTime(firstAt), shownTime(lastAt)];
}
