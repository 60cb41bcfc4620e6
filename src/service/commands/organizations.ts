import { codePoints } from "../../api/wire/text.ts";
import { isoNow } from "../../platform/clock.ts";
import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import { audit, commandAuthor } from "../kernel/store/audit.ts";
import { insertOrganization, ORGANIZATION_NAME_LENGTH, readBelongings } from "../organizations/organizations.ts";
import { type CommandContext, type CommandFlags, commandLine, withStore } from "./command.ts";

/** `orgs create NAME`: prints only the id of the new organization on stdout. It has no keys yet. */
export async function orgsCreate(flags: CommandFlags, { terminal }: CommandContext, name = ""): Promise<ExitCode> {
  if (!isName(name)) {
    const { minimum, maximum } = ORGANIZATION_NAME_LENGTH;
    terminal.problem({
      code: "organization-name-invalid",
      what: `a name has ${minimum} to ${maximum} visible characters, and no space around them`,
      fix: "give another name",
    });
    return EXIT.usage;
  }
  return withStore(flags, terminal, async (opened) => {
    const id = opened.newId("org");
    const author = commandAuthor(opened, id);
    const organization = { id, name, created_at: author.at };
    const isAdded = await opened.store.write(async (transaction) => {
      if (!(await insertOrganization(transaction, organization))) return false;
      await audit(transaction, author, { action: "organization.create", subjectId: id, details: { name } });
      return true;
    });
    if (!isAdded) {
      terminal.problem({
        code: "organization-exists",
        what: "an organization has this name already",
        where: name,
        fix: `give another name, or use that organization: ${commandLine("orgs list", flags)}`,
      });
      return EXIT.conflict;
    }
    if (flags.json === true) terminal.json(organization);
    else {
      terminal.print(id);
      const next = commandLine(`keys create --label TEXT --org ${id}`, flags);
      terminal.note(`Created the organization ${name}. Create its first key: ${next}`);
    }
    return EXIT.ok;
  });
}

/** To the minute, in UTC: `2026-01-31T08:00Z`. `--json` has the full time. */
const MINUTES_LENGTH = "2026-01-31T08:00".length;

/** `orgs list`: every organization with what it has, oldest first. */
export async function orgsList(flags: CommandFlags, { terminal }: CommandContext): Promise<ExitCode> {
  return withStore(flags, terminal, async ({ store, machine }) => {
    const organizations = await readBelongings(store.reader, isoNow(machine.clock));
    if (flags.json === true) terminal.json({ items: organizations });
    else if (organizations.length === 0)
      terminal.note(`There is no organization yet. Create one: ${commandLine("orgs create NAME", flags)}`);
    else {
      const cells = organizations.map(({ name, robots, api_keys: apiKeys, created_at: createdAt, id }) => {
        return [name, String(robots), String(apiKeys), `${createdAt.slice(0, MINUTES_LENGTH)}Z`, id];
      });
      terminal.table(["organization", "robots", "keys", "since", "id"], cells);
    }
    return EXIT.ok;
  });
}

/** Names are shown in tables and sentences, where invisible characters can only deceive. */
function isName(name: string): boolean {
  const length = codePoints(name);
  const { minimum, maximum } = ORGANIZATION_NAME_LENGTH;
  return length >= minimum && length <= maximum && name.trim() === name && !/[\p{C}\p{Zl}\p{Zp}]/u.test(name);
}
