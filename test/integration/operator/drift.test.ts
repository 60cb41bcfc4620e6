/** What an operator sees when robots drift from those that their model was trained on: five stories, as one recorded session. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, it } from "vitest";
import * as z from "zod";

import type { RobotContract } from "../../../src/api/contract.ts";
import { REGION, STEADY } from "../../conformance/api/catalog.ts";
import { steady } from "../../support/operator/enrolling.ts";
import { openOperatorSite, type OperatorSite } from "../../support/operator/operator.ts";
import {
  calibration,
  camera,
  contractOfSo101,
  digestOf,
  type Entry,
  file,
  register,
} from "../../support/service/registered-parts.ts";

const GOLDEN = "../../golden/operator-session/drift.txt";
const LIMITS = file("limits.yaml", "torque: 40\n");
const ROBOTS = 40;

/** What robot number `index` has. */
function entriesOf(index: number, offset = 1000 + index): readonly Entry[] {
  return [
    LIMITS,
    file("right arm", calibration(offset)),
    camera("top camera", `T${index}`),
    camera("wrist camera", `W${index}`),
  ];
}

function exchanged(index: number): readonly Entry[] {
  return [...entriesOf(index).slice(0, 2), camera("top camera", `W${index}`), camera("wrist camera", `T${index}`)];
}

/** The contract with another native number for the gripper's action. */
function withGripper(contract: RobotContract, native: object): RobotContract {
  const axes = contract.action_axes.map((axis) =>
    axis.name.startsWith("gripper.") ? Object.assign({}, axis, { native }) : axis,
  );
  return { ...contract, action_axes: axes };
}

function withoutIds(text: string): string {
  return text.replaceAll(/\b(aud|dep|gen|fleet)_[0-9a-z]{26}\b/g, "$1_ID").replaceAll(/:\d{5}\b/g, ":PORT");
}

/** Says in the site's catalog what the newest checkpoint of pi0.5 was trained on. */
async function train(site: OperatorSite, trainedOn: object): Promise<void> {
  const path = join(site.home, "models.yaml");
  const catalog = catalogSchema.parse(JSON.parse(await readFile(path, "utf8")));
  for (const { checkpoints } of catalog.models) {
    for (const checkpoint of checkpoints) {
      if (checkpoint.id === STEADY.newest) Object.assign(checkpoint, { trained_on: trainedOn });
    }
  }
  await writeFile(path, JSON.stringify(catalog));
  await site.service.reload();
  expect(site.service.log()).not.toContain("models_refused");
}

const catalogSchema = z.object({
  models: z.array(z.looseObject({ checkpoints: z.array(z.looseObject({ id: z.string() })) })),
});

it("five robots drift → each found by name, refused or warned of as the catalog says", async () => {
  await using site = await openOperatorSite();
  const lines: string[] = [];
  const show = async (title: string, ...commands: readonly string[]) => {
    lines.push(`# ${title}`);
    for (const command of commands) {
      const { exitCode, out, err } = await site.run(...command.split(" "));
      lines.push(withoutIds(steady(`$ robot-policy ${command}\n${out}${err}→ ${exitCode}`)));
    }
  };
  const contract = await contractOfSo101();
  const add = (index: number, entries = entriesOf(index), of = contract) =>
    register(site.service, `cell-${index}`, entries, {
      robot_type_id: of.robot_type_id,
      region: REGION,
      site: "hall",
      contract: of,
    });
  for (let index = 0; index < ROBOTS; index += 1) await add(index);
  await train(site, {
    robots: [4, 5].map((index) => ({ robot: `cell-${index}`, digest: digestOf(entriesOf(index)) })),
    require: ["axes", "order", "units", "signs", "camera_roles", "devices"],
  });
  const created = await site.run(
    "fleets",
    "create",
    "--name",
    "packing",
    "--model",
    "pi0.5",
    "--site",
    "hall",
    "--peak",
    "40",
    "--wait",
  );
  expect(created).toMatchObject({ exitCode: 0 });

  await add(4, entriesOf(4, 1004 + 194));
  await show(
    "A joint's offset moved by 17°.",
    "robots history cell-4",
    "robots diff cell-4",
    "deploy pi0.5 --robot cell-4",
  );
  await add(5, exchanged(5));
  await show("Two cameras are exchanged.", "robots diff cell-5", "deploy pi0.5 --robot cell-5");
  await add(7, entriesOf(7), withGripper(contract, { unit: "percent", scale: -0.01, offset: 1 }));
  await show("A gripper's direction is flipped.", "robots diff cell-7", "deploy pi0.5 --robot cell-7");
  await add(8, [...entriesOf(8), file("extra.yaml", "x: 1\n")]);
  await show("A new file is in one of forty robots.", "fleets diff packing", "robots diff cell-8");
  await add(9, entriesOf(9), withGripper(contract, { unit: "normalized", scale: 0.005, offset: 0.5 }));
  await show("Another LeRobot version's units.", "robots diff cell-9", "deploy pi0.5 --robot cell-9");
  await show("What has become of the fleet.", "fleets show packing");
  await expect(`${lines.join("\n\n")}\n`).toMatchFileSnapshot(GOLDEN);
});
