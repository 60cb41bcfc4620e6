import type { Problem } from "../../platform/terminal.ts";
import type { Store } from "../kernel/store/store.ts";
import { findOrganization, listOrganizations } from "../organizations/queries.ts";
import type { OrganizationRow } from "../organizations/queries.ts";
import { commandLine } from "./command-line.ts";
import type { StoreFlags } from "./store/locate-store.ts";

interface OrganizationFlags extends StoreFlags {
  /** Name or id; may be left out where there is one organization. */
  readonly org?: string | undefined;
}

/** The organization that `--org` names by name or id, or the only one there is where it was left out. */
export async function chosenOrganization(
  { reader }: Pick<Store, "reader">,
  flags: OrganizationFlags,
): Promise<OrganizationRow | Problem> {
  const { org } = flags;
  if (org !== undefined) return (await findOrganization(reader, org)) ?? unknown(org, flags);
  const [only, ...others] = await listOrganizations(reader);
  if (only === undefined) return none(flags);
  return others.length === 0 ? only : ambiguous(others.length + 1, flags);
}

function unknown(where: string, flags: StoreFlags): Problem {
  return {
    code: "organization-unknown",
    what: "There is no such organization.",
    where,
    fix: `See which there are: ${commandLine("orgs list", flags)}`,
  };
}

function none(flags: StoreFlags): Problem {
  return {
    code: "no-organization",
    what: "There is no organization yet.",
    fix: `Make one: ${commandLine("orgs create NAME", flags)}`,
  };
}

function ambiguous(count: number, flags: StoreFlags): Problem {
  return {
    code: "organization-ambiguous",
    what: `There are ${count} organizations, and nothing says which.`,
    fix: `Say it with --org NAME or --org ID; see which there are: ${commandLine("orgs list", flags)}`,
  };
}
