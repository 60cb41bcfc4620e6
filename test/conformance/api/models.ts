import { describe, expect } from "vitest";

import { OTHER_REGION, PICKY, REGION, STEADY } from "./catalog.ts";
import { LONG, shown } from "./robots.ts";
import type { Tests } from "./tests.ts";

export function modelsConformance({ target, it }: Tests): void {
  describe("models", () => {
    it("get → the model, without addresses of endpoints", async ({ client }) => {
      const model = await client.call("getModel", { path: { slug: STEADY.slug } });
      expect(model).toMatchObject({
        slug: STEADY.slug,
        display_name: "π0.5",
        vendor: "Physical Intelligence",
        model_type: "vla",
        license_tier: "open",
        default_checkpoint_id: STEADY.newest,
      });
      expect(new Map(model.checkpoints?.map(({ id, regions }) => [id, regions?.toSorted()]))).toEqual(
        new Map([
          [STEADY.oldest, [OTHER_REGION, REGION]],
          [STEADY.newest, [OTHER_REGION, REGION]],
        ]),
      );
      expect(JSON.stringify(model)).not.toContain("127.0.0.1");
    });

    it("list → the same as get for each model", async ({ client }) => {
      const { models } = await client.call("listModels");
      expect(models.map(({ slug }) => slug)).toContain(PICKY.slug);
      for (const model of models) {
        expect(await client.call("getModel", { path: { slug: model.slug } })).toEqual(model);
      }
    });

    it.each(["none", STEADY.newest, "PI0.5", "pi0.5 ", "pi0%", "../models", "ключ", LONG].map(shown))(
      "get %s → 404",
      async (_shown, slug) => {
        const { status } = await (await target().organization()).send("getModel", { path: { slug } });
        expect(status).toBe(404);
      },
    );
  });
}
