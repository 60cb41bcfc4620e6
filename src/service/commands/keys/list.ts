import { makerInWords } from "../../../api/words/key-lineage.ts";
import { isoNow } from "../../../platform/clock.ts";
import { EXIT, type ExitCode, type Terminal } from "../../../platform/terminal.ts";
import type { KeyViewRow } from "../../kernel/auth/key-queries.ts";
import { ALL_ROWS } from "../../kernel/lists/page-range.ts";
import { listKeys } from "../../keys/queries.ts";
import { keyView } from "../../keys/rules.ts";
import { chosenOrganization, type OrganizationFlags } from "../chosen-organization.ts";
import type { CommandContext } from "../command-context.ts";
import { commandLine } from "../command-line.ts";
import { shownTime } from "../shown-time.ts";
import { withStore } from "../store/with-store.ts";

/** `keys list`: the keys of an organization, oldest first, with their rights; never the keys themselves. */
export async function keysList(flags: OrganizationFlags, { terminal }: CommandContext): Promise<ExitCode> {
  return withStore(flags, terminal, async ({ store, machine }) => {
    const organization = await chosenOrganization(store, flags);
    if ("code" in organization) return organization;
    const keys = await listKeys(store.reader, organization.id, ALL_ROWS);
    if (flags.json === true) terminal.json({ items: keys.map(keyView) });
    else if (keys.length === 0) {
      const next = commandLine(`keys create --label TEXT --org ${organization.id}`, flags);
      terminal.note(`${organization.name} has no keys yet. Create one: ${next}`);
    } else {
      const byId = new Map(keys.map((key) => [key.id, keyView(key)]));
      const now = isoNow(machine.clock);
      terminal.table(
        ["id", "label", "key", "may", "state", "last used", "made with"],
        keys.map((key) => {
          const view = keyView(key);
          const may = view.scopes?.join(", ") ?? "everything";
          const lastUsed = key.last_used_at === null ? "never" : shownTime(key.last_used_at);
          const shownKey = `${key.key_prefix}…${key.key_last4}`;
          const state = describeState(key, now, terminal);
          return [key.id, key.label, shownKey, may, state, lastUsed, makerInWords(view, byId)];
        }),
      );
    }
    return EXIT.ok;
  });
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
