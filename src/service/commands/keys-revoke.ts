import { keysInWords } from "../../api/words/key-lineage.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { createIds } from "../kernel/ids.ts";
import { countEndingWith, findKeyOrganization } from "../keys/queries.ts";
import { keyView, revokeKey } from "../keys/rules.ts";
import { commandAuthor } from "./command-author.ts";
import { commandLine } from "./command-line.ts";
import { commandMachine } from "./command-machine.ts";
import type { CommandContext } from "./serve/serve.ts";
import type { StoreFlags } from "./store/locate-store.ts";
import { withStore } from "./store/with-store.ts";

export interface KeysRevokeFlags extends StoreFlags {
  /** Revoke it even where other keys end with it. */
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** `keys revoke ID`: from the next request on the key is refused, by services that run on the store as well. */
export async function keysRevoke(flags: KeysRevokeFlags, { terminal }: CommandContext, id = ""): Promise<ExitCode> {
  const machine = commandMachine();
  return withStore(flags, machine, terminal, async (store) => {
    const newId = createIds(machine.clock, machine.random);
    const organizationId = await findKeyOrganization(store.reader, id);
    const author = { ...commandAuthor(newId, machine.clock), organizationId: organizationId ?? null };
    const revocation =
      organizationId === undefined
        ? ({ state: "not-found" } as const)
        : await store.write(async (transaction) => {
            const others = flags.yes === true ? 0 : await countEndingWith(transaction, organizationId, id, author.at);
            if (others > 0) return { state: "ends-others", others } as const;
            return revokeKey(transaction, organizationId, id, null, author);
          });
    if (revocation.state === "ends-others") {
      terminal.problem({
        code: "keys-end-too",
        what: `With this key end ${keysInWords(revocation.others)}.`,
        where: id,
        fix: `See which: ${commandLine("keys list", flags)}; and give --yes to revoke all of them.`,
      });
      return EXIT.usage;
    }
    if (revocation.state !== "revoked") {
      terminal.problem({
        code: "key-unknown",
        what: "There is no key of this id.",
        where: id,
        fix: `See which there are: ${commandLine("keys list", flags)}`,
      });
      return EXIT.failed;
    }
    const { key, changed, keys_ended: keysEnded, is_locked_out: isLockedOut } = revocation;
    if (flags.json === true) terminal.json(keyView(key));
    else
      terminal.note(
        changed
          ? `Revoked ${key.id} (${key.label})${keysEnded === 0 ? "" : `, and ${keysInWords(keysEnded)}`}.`
          : `${key.id} was revoked at ${key.revoked_at ?? ""}.`,
      );
    if (isLockedOut) {
      const next = commandLine("keys create --label TEXT", flags);
      terminal.note(`No key of its organization may do everything any more. Make one: ${next}`);
    }
    return EXIT.ok;
  });
}
