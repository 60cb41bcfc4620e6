import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { createDocuments, readConfigurationNow } from "../../../src/agent/configuration/documents.ts";
import { createLook } from "../../../src/look/look.ts";
import { systemMachine } from "../../../src/platform/machine.ts";
import { type Interference, meddledFiles, OLD_MS, SteppedClock, temporaryFolder } from "../look/machine.ts";

export const BIMANUAL = "yam.bimanual-joint-position.v1";
export const SINGLE = "yam.single-joint-position.v1";

/** A robot whose configuration, manifest and two configuration files are old, and what its agent reads them with. */
export async function writtenRobot(interference: Interference & { mountsNow?(): string } = {}) {
  const folder = await temporaryFolder();
  const [configPath, manifestPath] = [join(folder, "config.yaml"), join(folder, "manifest.yaml")];
  const paths = [join(folder, "map.bin"), join(folder, "tool.conf")] as const;
  const configure = ({ settleMs = 500, manifest = manifestPath, region = "eu" } = {}) =>
    writeFile(
      configPath,
      `service: { url: "http://127.0.0.1:1" }\nrobot: { name: arm-7, region: ${region} }\nmanifest: ${manifest}\nwatch: { settle_ms: ${settleMs} }\n`,
    );
  const describe = (type: string, path = manifestPath, files: readonly string[] = paths) =>
    writeFile(path, `robot_type_id: ${type}\nconfiguration_files: ${JSON.stringify(files)}\n`);
  await configure();
  await describe(BIMANUAL);
  for (const path of paths) await writeFile(path, "first\n");
  const clock = new SteppedClock();
  clock.step(OLD_MS);
  const meddled = meddledFiles(interference);
  const files = Object.assign(meddled, { mountsNow: interference.mountsNow ?? meddled.mountsNow });
  const machine = { ...systemMachine({}, process.pid), files, clock };
  const configuration = await readConfigurationNow(machine, configPath);
  if (configuration.reading.value === null) throw new Error(JSON.stringify(configuration.reading.findings));
  const look = createLook(machine);
  const documents = createDocuments(machine, look, configuration, configuration.reading.value);
  return { folder, paths, configPath, manifestPath, configure, describe, clock, files, machine, look, documents };
}
