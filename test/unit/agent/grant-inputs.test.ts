import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { readGrantInputs } from "../../../src/agent/access/check-access.ts";
import { systemMachine } from "../../../src/platform/machine.ts";
import { testFolder } from "../../support/folder.ts";

const MANIFEST = `schema: robot-manifest/v1
robot_type_id: yam.bimanual-joint-position.v1
configuration_files:
  - /etc/robot/a.json
  - ~/b.json
`;

const read = (config: string) =>
  readGrantInputs({ config }, { machine: systemMachine({}, process.pid), environment: {} });

test("readGrantInputs: path below ~/ without robot.home → the manifest's line of that path; else all that the agent reads", async () => {
  const folder = testFolder("grant-inputs");
  const [config, manifest] = [join(folder, "config.yaml"), join(folder, "robot-manifest.yaml")];
  await writeFile(config, `service: {url: "https://a.test"}\nrobot: {name: a, region: eu}\nmanifest: ${manifest}\n`);
  await writeFile(manifest, MANIFEST);
  expect(await read(config)).toMatchObject({
    code: "manifest-invalid",
    what: expect.stringContaining("set robot.home"),
    where: `${manifest}:5:5`,
  });
  await writeFile(manifest, MANIFEST.replace("~", "/opt"));
  expect(await read(config)).toMatchObject({ paths: [config, manifest, "/etc/robot/a.json", "/opt/b.json"] });
});
