/** What changed between registrations, and which robots of a fleet differ, over the wire. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { expect, it } from "vitest";

import { type Differences, differencesSchema, fleetDifferencesSchema } from "../../../../src/api/differences.ts";
import { getRobotHistory } from "../../../../src/api/registrations.ts";
import { SQLITE_FILE } from "../../../../src/service/kernel/store/sqlite/store.ts";
import { testFolder } from "../../../support/folder.ts";
import {
  calibration,
  camera,
  contractOfSo101,
  createFleetWithOutlier,
  digestOf,
  file,
  register,
  setUp,
} from "../../../support/service/registered-parts.ts";
import { writeModels } from "../../../support/service/scene.ts";
import { beginWriting, type RunningService } from "../../../support/service/service.ts";
import { describeOnEachStore } from "../../../support/service/stores.ts";
import { testService } from "../../../support/service/test-service.ts";

async function differencesOf({ send }: RunningService, path: string): Promise<Differences> {
  const answer = await send("GET", `/v1/robots/${path}`);
  expect(answer.status).toBe(200);
  return differencesSchema.parse(await answer.json());
}

const shown = ({ differences }: Pick<Differences, "differences">) =>
  differences.map(({ change, subject, details }) => [change, subject, ...details]);

describeOnEachStore("differences", (newStore) => {
  const start = async () => testService({ store: await newStore() });

  it("a joint's offset moved, a camera swapped, a label and the site changed → each by name, against the registration before", async () => {
    const service = await start();
    const limits = file("limits.yaml", "torque: 40\n");
    await register(service, "cell-4", [file("right arm", calibration(1024)), camera("top camera", "4F3A"), limits]);
    const later = [file("right arm", calibration(1218)), camera("top camera", "58FA"), limits];
    await register(service, "cell-4", later, { site: "hall-2", labels: { line: "a" } });
    const found = await differencesOf(service, "cell-4/differences");
    expect(shown(found)).toEqual([
      ["changed", "right arm", "shoulder_pan.homing_offset 1024 → 1218 (+194, 17.1°)"],
      ["changed", "top camera", 'serial "4F3A" → "58FA"'],
      ["added", "site"],
      ["added", "line"],
    ]);
    expect([found.parts, found.before?.robot, found.after.configuration_digest]).toEqual([
      "compared",
      "cell-4",
      digestOf(later),
    ]);
  });

  it("history → what each registration changed, without what is in files", async () => {
    const service = await start();
    await register(service, "cell-4", [file("right arm", calibration(1024))]);
    await register(service, "cell-4", [file("right arm", calibration(1218)), camera("top camera", "4F3A")]);
    await register(service, "cell-4", [camera("top camera", "4F3A")]);
    const history = getRobotHistory.response.parse(
      await (await service.send("GET", "/v1/robots/cell-4/history")).json(),
    );
    expect(history.items.map(shown)).toEqual([
      [["removed", "right arm"]],
      [
        ["changed", "right arm"],
        ["added", "top camera"],
      ],
      [],
    ]);
    const [, second] = history.items;
    const found = await differencesOf(service, `cell-4/differences?registration=${second?.registration_id}`);
    expect(shown(found)[0]).toEqual(["changed", "right arm", "shoulder_pan.homing_offset 1024 → 1218 (+194, 17.1°)"]);
    expect((await service.send("GET", "/v1/robots/cell-4/differences?registration=aud_0")).status).toBe(404);
  });

  it("contracts → by axis, also from the history", async () => {
    const service = await start();
    const contract = await contractOfSo101();
    const { robot_type_id: robotTypeId } = contract;
    const flipped = contract.action_axes.map((axis) =>
      axis.name.startsWith("gripper") || axis.name.includes("gripper")
        ? Object.assign({}, axis, { native: { ...axis.native, unit: "percent", scale: -0.01, offset: 1 } })
        : axis,
    );
    expect(flipped).not.toEqual(contract.action_axes);
    const entries = [file("right arm", calibration(1), false)];
    await register(service, "cell-4", entries, { robot_type_id: robotTypeId, contract });
    await register(service, "cell-4", entries, {
      robot_type_id: robotTypeId,
      contract: { ...contract, action_axes: flipped },
    });
    const found = await differencesOf(service, "cell-4/differences");
    expect(found.differences).toMatchObject([
      { group: "contract", change: "changed", details: [expect.stringContaining("direction flipped")] },
    ]);
    const history = getRobotHistory.response.parse(
      await (await service.send("GET", "/v1/robots/cell-4/history")).json(),
    );
    expect(history.items[0]?.differences).toEqual(found.differences);
  });

  it("two robots → compared; a content that both have is sent and kept once", async () => {
    const service = await start();
    const limits = file("limits.yaml", "torque: 40\n");
    expect(await register(service, "cell-4", [file("right arm", calibration(1)), limits])).toBe(2);
    expect(await register(service, "cell-7", [file("right arm", calibration(2)), limits])).toBe(1);
    expect(shown(await differencesOf(service, "cell-4/differences?against=cell-7"))).toEqual([
      ["changed", "right arm", "shoulder_pan.homing_offset 2 → 1 (−1, 0.1°)"],
    ]);
  });

  it("content not shared → by name and hash, and its bytes are refused", async () => {
    const service = await start();
    const [old, now] = [file("right arm", calibration(1), false), file("right arm", calibration(2), false)];
    await register(service, "cell-4", [old]);
    await register(service, "cell-4", [now]);
    expect((await differencesOf(service, "cell-4/differences")).differences).toMatchObject([
      { content: "not_shared", details: [], before: old.part.sha256, after: now.part.sha256 },
    ]);
    const sent = await service.send("PUT", `/v1/robots/cell-4/contents/${now.part.sha256}`, { text: now.text });
    expect(sent.status).toBe(409);
  });

  it("a robot that does not say what its digest covers → the digest, labels and members", async () => {
    const service = await start();
    await setUp(service, "cell-4", [file("a", "1")]);
    await setUp(service, "cell-4", [file("a", "2")], { region: "eu-central-1" });
    const found = await differencesOf(service, "cell-4/differences");
    expect([found.parts, found.differences.map(({ subject }) => subject)]).toEqual([
      "not_known",
      ["configuration_digest", "region"],
    ]);
  });

  it("parts of another digest, another hash, a secret, a content too large, another robot's credential → refused", async () => {
    const service = await start();
    const secret = file("right arm", `token: sk_live_${"a1".repeat(12)}\n`);
    const large = file("mesh", "é".repeat(131_073));
    const entries = [secret, large];
    await setUp(service, "cell-4", entries);
    const put = (path: string, body: object) => service.send("PUT", `/v1/robots/cell-4/${path}`, body);
    const parts = entries.map(({ part }) => part);
    const other = { configuration_digest: digestOf([]), parts };
    expect((await put("registration/parts", other)).status).toBe(422);
    expect((await put("registration/parts", { configuration_digest: digestOf([]), parts: [] })).status).toBe(409);
    expect((await put("registration/parts", { configuration_digest: digestOf(entries), parts })).status).toBe(200);
    expect((await put(`contents/${secret.part.sha256}`, { text: secret.text })).status).toBe(422);
    expect((await put(`contents/${large.part.sha256}`, { text: large.text })).status).toBe(422);
    expect((await put(`contents/${secret.part.sha256}`, { text: "other" })).status).toBe(422);
    expect((await service.send("PUT", "/v1/robots/nobody/registration/parts", other)).status).toBe(404);
    expect(service.log()).not.toContain("sk_live_a1");
  });

  it("a fleet → a new file in one of its robots, by name", async () => {
    const modelsFile = await writeModels(testFolder("differences"), ["us-west-2"]);
    const service = await testService({ store: await newStore(), configuration: { modelsFile } });
    const fleet = await createFleetWithOutlier(service);
    const found = fleetDifferencesSchema.parse(
      await (await service.send("GET", `/v1/fleets/${fleet}/differences`)).json(),
    );
    expect(found).toMatchObject({ members: 10, unknown: ["quiet"] });
    expect(found.parts.map(({ subject, equal, values, outliers }) => [subject, equal, values, outliers])).toEqual([
      ["extra.yaml", 8, 2, [{ robot: "cell-4", robot_id: expect.any(String), what: expect.any(String) }]],
      ["right arm", 1, 9, []],
    ]);
  });
});

it("the organization has as much shared content as it may → more is refused, registrations are not, with a contract neither", async () => {
  const service = await testService();
  const [limits, arm] = [file("limits.yaml", "torque: 40\n"), file("right arm", calibration(1))];
  expect(await register(service, "cell-4", [limits])).toBe(1);
  {
    using database = new DatabaseSync(join(service.dataDirectory, SQLITE_FILE));
    await beginWriting(database);
    database.exec("UPDATE contents SET bytes = 256 * 1024 * 1024; COMMIT");
  }
  const contract = await contractOfSo101();
  await setUp(service, "cell-4", [arm], { robot_type_id: contract.robot_type_id, contract });
  const body = { configuration_digest: digestOf([arm]), parts: [arm.part] };
  expect((await service.send("PUT", "/v1/robots/cell-4/registration/parts", body)).status).toBe(200);
  const path = `/v1/robots/cell-4/contents/${arm.part.sha256}`;
  expect((await service.send("PUT", path, { text: arm.text })).status).toBe(409);
  using database = new DatabaseSync(join(service.dataDirectory, SQLITE_FILE), { readOnly: true });
  expect(database.prepare("SELECT text FROM contents").all()).toEqual([{ text: limits.text }]);
});
