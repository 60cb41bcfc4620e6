import { codePoints } from "../../api/wire/text.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { createIds } from "../kernel/ids.ts";
import { audit } from "../kernel/store/audit.ts";
import { insertOrganization, ORGANIZATION_NAME_LENGTH } from "../organizations/queries.ts";
import { commandAuthor } from "./command-author.ts";
import { commandLine } from "./command-line.ts";
import { commandMachine } from "./command-machine.ts";
import type { CommandContext } from "./serve/serve.ts";
import type { StoreFlags } from "./store/locate-store.ts";
import { withStore } from "./store/with-store.ts";

export interface OrgsCreateFlags extends StoreFlags {
  readonly json?: boolean;
}

/** `orgs create NAME`: prints the id of the new organization alone on stdout. It has no keys yet: `keys create`. */
export async function orgsCreate(flags: OrgsCreateFlags, { terminal }: CommandContext, name = ""): Promise<ExitCode> {
  if (!isName(name)) {
    terminal.problem({
      code: "organization-name-invalid",
      what: `A name has ${ORGANIZATION_NAME_LENGTH.minimum} to ${ORGANIZATION_NAME_LENGTH.maximum} characters, and none that cannot be seen.`,
      fix: "Give another name.",
    });
    return EXIT.usage;
  }
  const machine = commandMachine();
  return withStore(flags, machine, terminal, async (store) => {
    const newId = createIds(machine.clock, machine.random);
    const author = commandAuthor(newId, machine.clock);
    const organization = { id: newId("org"), name, created_at: author.at };
    const added = await store.write(async (transaction) => {
      if (!(await insertOrganization(transaction, organization))) return false;
      const { id: subjectId } = organization;
      const own = { ...author, organizationId: subjectId };
      await audit(transaction, own, { action: "organization.create", subjectId, details: { name } });
      return true;
    });
    if (!added) {
      terminal.problem({
        code: "organization-exists",
        what: "There is an organization of this name.",
        where: name,
        fix: `Give another name, or use that one: ${commandLine("orgs list", flags)}`,
      });
      return EXIT.conflict;
    }
    if (flags.json === true) terminal.json(organization);
    else {
      terminal.print(organization.id);
      const next = commandLine(`keys create --label TEXT --org ${organization.id}`, flags);
      terminal.note(`Made the organization ${name}. Its first key: ${next}`);
    }
    return EXIT.ok;
  });
}

/** Names go into tables and sentences; what cannot be seen there can only deceive. */
function isName(name: string): boolean {
  const length = codePoints(name);
  const { minimum, maximum } = ORGANIZATION_NAME_LENGTH;
  return length >= minimum && length <= maximum && name.trim() === name && !/[\p{C}\p{Zl}\p{Zp}]/u.test(name);
}
