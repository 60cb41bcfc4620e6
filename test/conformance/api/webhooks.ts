import { describe, expect } from "vitest";

import { WEBHOOKS_MAXIMUM } from "../../../src/api/webhooks.ts";
import { EVENT_TYPES } from "../../../src/api/wire/event-types.ts";
import type { Client } from "./client.ts";
import { shown } from "./robots.ts";
import type { Tests } from "./tests.ts";

/** Never resolves (RFC 6761), so nothing is sent. */
const URL = "https://receiver.invalid/hook?secret=1";

function create(client: Client, members: object = {}) {
  return client.call("createWebhook", { body: { url: URL, ...members } });
}

export function webhooksConformance({ target, it, itOnce }: Tests): void {
  describe("webhooks", () => {
    it("create → shows the secret; lists do not", async ({ client }) => {
      const { secret, ...webhook } = await create(client, { events: ["robot.changed", "robot.changed"] });
      expect(webhook).toMatchObject({ url: URL, events: ["robot.changed"], last_error: null });
      expect(await client.call("listWebhooks")).toEqual({ items: [webhook] });
      expect(JSON.stringify(await client.call("listAudit"))).not.toContain(secret);
    });

    it(`create, also concurrently → at most ${WEBHOOKS_MAXIMUM}; deleted ones do not count`, async ({ client }) => {
      const body = { url: URL };
      const sent = await Promise.all(
        Array.from({ length: WEBHOOKS_MAXIMUM + 2 }, () => client.send("createWebhook", { body })),
      );
      expect(sent.filter(({ status }) => status === 200)).toHaveLength(WEBHOOKS_MAXIMUM);
      expect(sent.filter(({ status }) => status === 409)).toHaveLength(2);
      const [first] = (await client.call("listWebhooks")).items;
      await client.call("deleteWebhook", { path: { webhook_id: first?.id ?? "" } });
      await create(client);
    });

    itOnce.each(
      [
        "",
        "http://receiver.example/",
        "https://169.254.169.254/latest/meta-data",
        `https://receiver.example/${"x".repeat(2048)}`,
      ].map(shown),
    )("create with the URL %s → 422", async (_shown, url) => {
      await (await target().organization()).invalid([["body", "url"]], "createWebhook", { body: { url } });
    });

    itOnce.each<[events: unknown, loc: (string | number)[]]>([
      [[], ["events"]],
      [["robot.exploded"], ["events", 0]],
      ["robot.changed", ["events"]],
      [[...EVENT_TYPES, "robot.online"], ["events"]],
    ])("create with the events %j → 422", async (events, loc) => {
      const client = await target().organization();
      await client.invalid([["body", ...loc]], "createWebhook", { body: { url: URL, events } });
    });

    it("test → says that the receiver cannot be reached, as the list does until an attempt succeeds", async ({
      client,
    }) => {
      const { id } = await create(client, { events: ["fleet.ready"] });
      const tested = await client.call("testWebhook", { path: { webhook_id: id } });
      expect(tested).toEqual({ delivered: false, error: expect.stringMatching(/./) });
      const [webhook] = (await client.call("listWebhooks")).items;
      expect(webhook).toMatchObject({ id, last_error: tested.error, last_error_at: expect.any(String) });
    });

    it("rotate → another secret, and until when the former one signs, too", async ({ client }) => {
      const { id, secret: former } = await create(client);
      const { secret, ...webhook } = await client.call("rotateWebhook", { path: { webhook_id: id } });
      expect(secret).not.toBe(former);
      expect(Date.parse(webhook.previous_secret_until ?? "")).toBeGreaterThan(Date.now());
      expect((await client.call("listWebhooks")).items).toEqual([webhook]);
      const log = await client.call("listAudit");
      expect(log.items[0]).toMatchObject({ action: "webhook.rotate_secret", subject_id: id });
      expect(JSON.stringify(log)).not.toContain(secret);
    });

    const ON_ONE = ["testWebhook", "rotateWebhook", "deleteWebhook"] as const;

    it("deleted, or of another organization → 404", async ({ client }) => {
      const stranger = await target().organization();
      const { id } = await create(client);
      const path = { webhook_id: id };
      for (const name of ON_ONE) await stranger.refused("NotFound", name, { path });
      expect(await stranger.call("listWebhooks")).toEqual({ items: [] });
      await client.call("deleteWebhook", { path });
      for (const name of ON_ONE) await client.refused("NotFound", name, { path });
    });
  });
}
