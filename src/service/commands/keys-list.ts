import type { ApiKeyView } from "../../api/keys.ts";
import { makerInWords } from "../../api/words/key-lineage.ts";
import { keyRobotsInWords } from "../../api/words/key-robots.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import type { KeyViewRow } from "../kernel/auth/key-queries.ts";
import { ALL_ROWS } from "../kernel/lists/page-range.ts";
import { listKeys } from "../keys/queries.ts";
import { keyView } from "../keys/rules.ts";
import { chosenOrganization } from "./chosen-organization.ts";
import { commandLine } from "./command-line.ts";
import { commandMachine } from "./command-machine.ts";
import type { CommandContext } from "./serve/serve.ts";
import { shownTime } from "./shown-time.ts";
import type { StoreFlags } from "./store/locate-store.ts";
import { withStore } from "./store/with-store.ts";

export interface KeysListFlags extends StoreFlags {
  /** Name or id; may be left out where there is one organization. */
  readonly org?: string | undefined;
  readonly json?: boolean;
}

/** `keys list`: the keys of an organization, oldest first, with what each may do; never a key itself. */
export async function keysList(flags: KeysListFlags, { terminal }: CommandContext): Promise<ExitCode> {
  const machine = commandMachine();
  return withStore(flags, machine, terminal, async (store) => {
    const organization = await chosenOrganization(store, flags);
    if ("code" in organization) {
      terminal.problem(organization);
      return EXIT.failed;
    }
    const keys = await listKeys(store.reader, organization.id, ALL_ROWS);
    const byId = new Map(keys.map((key) => [key.id, keyView(key)]));
    const now = new Date(machine.clock.wallMs()).toISOString();
    if (flags.json === true) terminal.json({ items: keys.map(keyView) });
    else if (keys.length === 0) {
      const next = commandLine(`keys create --label TEXT --org ${organization.id}`, flags);
      terminal.note(`${organization.name} has no keys yet. Make one: ${next}`);
    } else {
      terminal.table(
        ["id", "label", "key", "may", "state", "last used", "made with"],
        keys.map((key) => tableRow(key, byId, now, terminal)),
      );
    }
    return EXIT.ok;
  });
}

function tableRow(
  key: KeyViewRow,
  byId: ReadonlyMap<string, ApiKeyView>,
  now: string,
  terminal: Terminal,
): readonly string[] {
  const { id, label, key_prefix: keyPrefix, key_last4: keyLast4, last_used_at: lastUsedAt } = key;
  const view = keyView(key);
  const may = `${view.scopes?.join(", ") ?? "everything"}${keyRobotsInWords(view)}`;
  const lastUsed = lastUsedAt === null ? "never" : shownTime(lastUsedAt);
  return [
    id,
    label,
    `${keyPrefix}…${keyLast4}`,
    may,
    describeState(key, now, terminal),
    lastUsed,
    makerInWords(view, byId),
  ];
}

function describeState(
  { revoked_at: revokedAt, expires_at: expiresAt }: KeyViewRow,
  now: string,
  terminal: Terminal,
): string {
  if (revokedAt !== null) return terminal.style("dim", `revoked ${shownTime(revokedAt)}`);
  if (expiresAt === null) return terminal.style("good", "works");
  const moment = shownTime(expiresAt);
  return expiresAt <= now
    ? terminal.style("bad", `expired ${moment}`)
    : terminal.style("good", `works until ${moment}`);
}
