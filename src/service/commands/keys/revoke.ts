import { keysInWords } from "../../../api/words/key-lineage.ts";
import { EXIT, type ExitCode } from "../../../platform/terminal.ts";
import { isAnswer } from "../../kernel/http/answers.ts";
import { commandAuthor } from "../../kernel/store/audit.ts";
import { countEndingWith, findKeyOrganization, keyView, revokeKey } from "../../keys/keys.ts";
import type { CommandContext } from "../command-context.ts";
import { commandLine } from "../command-line.ts";
import type { CommandFlags } from "../store/locate-store.ts";
import { withStore } from "../store/with-store.ts";

interface KeysRevokeFlags extends CommandFlags {
  /** Also revoke the keys that depend on it. */
  readonly yes?: boolean;
}

/** `keys revoke ID`: running services refuse the key from the next request on. */
export async function keysRevoke(flags: KeysRevokeFlags, { terminal }: CommandContext, id = ""): Promise<ExitCode> {
  return withStore(flags, terminal, async (opened) => {
    const { store } = opened;
    const fix = "list the keys with a key of the organization: robot-policy keys list";
    const unknown = { code: "key-unknown", what: "there is no key with this id", where: id, fix };
    const organizationId = await findKeyOrganization(store.reader, id);
    if (organizationId === undefined) return unknown;
    const author = commandAuthor(opened, organizationId);
    const revocation = await store.write(async (transaction) => {
      const others = flags.yes === true ? 0 : await countEndingWith(transaction, organizationId, id, author.at);
      if (others > 0) return { others };
      return revokeKey(transaction, organizationId, id, null, author);
    });
    if ("others" in revocation) {
      const what = `revoking this key also ends ${keysInWords(revocation.others)}`;
      terminal.problem({ code: "keys-end-too", what, where: id, fix: `${fix}; give --yes to revoke all of them` });
      return EXIT.usage;
    }
    if (isAnswer(revocation)) return unknown;
    const { key, changed, keysEnded, isLockedOut } = revocation;
    if (flags.json === true) terminal.json(keyView(key));
    else if (changed) {
      const others = keysEnded === 0 ? "" : `, and ${keysInWords(keysEnded)}`;
      terminal.note(`Revoked ${key.id} (${key.label})${others}.`);
    } else terminal.note(`${key.id} was revoked at ${key.revoked_at ?? ""}.`);
    if (isLockedOut) {
      const next = commandLine(`keys create --label TEXT --org ${organizationId}`, flags);
      terminal.note(`No key of its organization may do everything any more. Create one: ${next}`);
    }
    return EXIT.ok;
  });
}
