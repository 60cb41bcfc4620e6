import type { Machine } from "../../platform/machine.ts";
import type { Problem } from "../../platform/terminal.ts";
import { type FolderEnvironment, type FolderOptions, resolveFolders } from "../configuration/folders.ts";
import { readConfigurationNow, readManifestNow } from "../configuration/open.ts";
import { documentFindings } from "../findings.ts";
import { configurationFiles } from "../robot-setup.ts";

/** The files that the agent's user must be able to read, from configuration and manifest. */
export async function readGrantInputs(
  options: FolderOptions,
  { machine, environment }: { readonly machine: Machine; readonly environment: FolderEnvironment },
): Promise<
  { readonly paths: readonly string[]; readonly keyFile: string | null; readonly stateDirectory: string } | Problem
> {
  const { configPath, stateDirectory } = resolveFolders(options, environment);
  const configuration = await readConfigurationNow(machine, configPath);
  const current = configuration.reading.value;
  if (current === null)
    return unreadable(documentFindings(configuration)[0]?.message ?? "it cannot be read", configPath);
  const manifest = await readManifestNow(machine, current.manifest);
  const robot = manifest.reading.value;
  if (robot === null)
    return unreadable(documentFindings(manifest)[0]?.message ?? "it cannot be read", current.manifest);
  const resolved = configurationFiles(current, robot);
  if (resolved.kind === "finding") return unreadable(resolved.finding.message, current.manifest);
  return { paths: resolved.files.map(({ path }) => path), keyFile: current.service.key_file, stateDirectory };
}

function unreadable(what: string, where: string): Problem {
  return {
    code: "inputs-invalid",
    what,
    where,
    fix: "robot-policy-agent check shows everything that is wrong with it",
  };
}
