import type { Machine } from "../../platform/machine.ts";
import type { Problem } from "../../platform/terminal.ts";
import { type FolderEnvironment, type FolderOptions, resolveFolders } from "../configuration/folders.ts";
import { firstError, invalidConfiguration, readConfigurationNow, readManifestNow } from "../configuration/open.ts";
import { locate } from "../findings.ts";
import { configurationFiles } from "../robot-setup.ts";

const MANIFEST_INVALID = "manifest-invalid";

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
  if (current === null) return invalidConfiguration(configuration);
  const manifest = await readManifestNow(machine, current.manifest);
  const robot = manifest.reading.value;
  if (robot === null) return { code: MANIFEST_INVALID, ...firstError(manifest) };
  const resolved = configurationFiles(current, robot);
  if (resolved.kind === "finding")
    return { code: MANIFEST_INVALID, ...firstError(manifest, locate(manifest, resolved.finding)) };
  return { paths: resolved.files.map(({ path }) => path), keyFile: current.service.key_file, stateDirectory };
}
