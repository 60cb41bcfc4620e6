/** The preview of a fleet while robots are removed. test/conformance/api covers what clients see otherwise. */
import { expect, test } from "vitest";

import { fleetPreviewSchema } from "../../../../src/api/fleets.ts";
import { previewFleet } from "../../../../src/service/fleets/preview.ts";
import { openServiceParts, PRINCIPAL } from "../../../support/service/service-parts.ts";
import { robotRow } from "../../../support/service/rows.ts";

test.each([
  ["of the first part", 0],
  ["of the second part", 100],
])("all robots %s removed while the preview is sent → JSON of the others", async (_which, first) => {
  await using parts = await openServiceParts();
  const ids = Array.from({ length: 250 }, (_, index) => `rob_${String(index).padStart(3, "0")}`);
  const rows = ids.map((id) => robotRow({ id, organization_id: PRINCIPAL.organizationId, name: id, site: "hall" }));
  await parts.store.write(async (transaction) => void (await transaction.insertInto("robots").values(rows).execute()));
  const body = fleetPreviewSchema.parse({ selector: { site: "hall" } });
  const answer = await previewFleet(parts.context)(parts.call({ body, query: null }));
  if (!("parts" in answer)) throw new Error("The preview is not sent in parts");
  const removed = ids.slice(first, first + 100);
  await parts.store.write(async (transaction) => {
    await transaction.updateTable("robots").set({ removed_at: parts.at() }).where("id", "in", removed).execute();
  });
  const { robots } = JSON.parse((await Array.fromAsync(answer.parts)).join(""));
  expect(robots.map((each: { readonly robot: string }) => each.robot)).toEqual(
    ids.filter((id) => !removed.includes(id)),
  );
});
