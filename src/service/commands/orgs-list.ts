import { EXIT } from "../../platform/terminal.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { listOrganizations } from "../organizations/queries.ts";
import { commandLine } from "./command-line.ts";
import { commandMachine } from "./command-machine.ts";
import type { CommandContext } from "./serve/serve.ts";
import { shownTime } from "./shown-time.ts";
import type { StoreFlags } from "./store/locate-store.ts";
import { withStore } from "./store/with-store.ts";

export interface OrgsListFlags extends StoreFlags {
  readonly json?: boolean;
}

/** `orgs list`: every organization, oldest first. */
export async function orgsList(flags: OrgsListFlags, { terminal }: CommandContext): Promise<ExitCode> {
  return withStore(flags, commandMachine(), terminal, async (store) => {
    const organizations = await listOrganizations(store.reader);
    if (flags.json === true) terminal.json({ items: organizations });
    else if (organizations.length === 0)
      terminal.note(`There is no organization yet. Make one: ${commandLine("orgs create NAME", flags)}`);
    else {
      terminal.table(
        ["organization", "since", "id"],
        organizations.map(({ name, created_at: createdAt, id }) => [name, `${shownTime(createdAt)}Z`, id]),
      );
    }
    return EXIT.ok;
  });
}
