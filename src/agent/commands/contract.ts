import type { RobotManifest } from "../../manifest/manifest.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { DocumentInput } from "../document-input.ts";
import { documentFindings } from "../findings.ts";
import { resolveFolders } from "../folders.ts";
import { openConfiguration, openManifest } from "../open.ts";
import type { Command, CommonOptions } from "./context.ts";
import { showFindings } from "./show-findings.ts";

/** `contract`: what the manifest says of a custom robot type, in the normalized form that is sent with a registration. */
export const contract: Command<CommonOptions> = async (options, context) => {
  const { machine, terminal } = context;
  const configuration = openConfiguration(machine, resolveFolders(options, context.environment).config_path);
  await configuration.refresh(false);
  if (configuration.reading.value === null) return refuse(configuration);

  const document: DocumentInput<RobotManifest> = openManifest(machine, configuration.reading.value.manifest, () => 0);
  await document.refresh(false);
  const manifest = document.reading.value;
  if (manifest === null) return refuse(document);

  if (options.json === true) {
    terminal.json({ contract: manifest.contract });
    return EXIT.ok;
  }
  await showFindings(documentFindings(document), context);
  if (manifest.contract === null) {
    terminal.print(`No contract is sent: the service knows ${manifest.robot_type_id} by its id.`);
  } else {
    terminal.print(JSON.stringify(manifest.contract, null, 2));
  }
  return EXIT.ok;

  async function refuse(invalid: DocumentInput<unknown>): Promise<typeof EXIT.invalid> {
    const findings = documentFindings(invalid);
    if (options.json === true) terminal.json({ contract: null, findings });
    else await showFindings(findings, context);
    return EXIT.invalid;
  }
};
