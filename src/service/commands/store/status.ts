import { isoNow } from "../../../platform/clock.ts";
import { EXIT, type ExitCode } from "../../../platform/terminal.ts";
import { readBelongings } from "../../organizations/organizations.ts";
import type { CommandContext } from "../command-context.ts";
import type { CommandFlags } from "./locate-store.ts";
import { withStore } from "./with-store.ts";

/** `status`: what each organization has. */
export async function status(flags: CommandFlags, { terminal }: CommandContext): Promise<ExitCode> {
  return withStore(flags, terminal, async ({ store, machine }) => {
    const organizations = await readBelongings(store.reader, isoNow(machine.clock));
    if (flags.json === true) {
      terminal.json({ organizations });
      return EXIT.ok;
    }
    terminal.table(
      ["ORGANIZATION", "ROBOTS", "KEYS", "ID"],
      organizations.map(({ name, robots, api_keys: apiKeys, id }) => [name, String(robots), String(apiKeys), id]),
    );
    return EXIT.ok;
  });
}
