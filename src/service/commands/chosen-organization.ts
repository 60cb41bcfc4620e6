import type { Problem } from "../../platform/terminal.ts";
import type { Store } from "../kernel/store/store.ts";
import { findOrganization, listOrganizations, type OrganizationRow } from "../organizations/organizations.ts";
import { commandLine } from "./command-line.ts";
import type { CommandFlags } from "./store/locate-store.ts";

export interface OrganizationFlags extends CommandFlags {
  /** Name or id; optional if there is only one organization. */
  readonly org?: string | undefined;
}

/** The organization of `--org`, or without that flag the only one. */
export async function chosenOrganization(
  { reader }: Pick<Store, "reader">,
  flags: OrganizationFlags,
): Promise<OrganizationRow | Problem> {
  const { org } = flags;
  const list = commandLine("orgs list", flags);
  if (org !== undefined) {
    const what = "there is no such organization";
    const unknown = { code: "organization-unknown", what, where: org, fix: `list the organizations: ${list}` };
    return (await findOrganization(reader, org)) ?? unknown;
  }
  const [only, ...others] = await listOrganizations(reader);
  if (only === undefined) {
    const fix = `create one: ${commandLine("orgs create NAME", flags)}`;
    return { code: "no-organization", what: "there is no organization yet", fix };
  }
  if (others.length === 0) return only;
  return {
    code: "organization-ambiguous",
    what: `there are ${others.length + 1} organizations, and none is selected`,
    fix: `select one with --org NAME or --org ID; list them: ${list}`,
  };
}
