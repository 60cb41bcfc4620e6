import { describe, expect } from "vitest";

import { WEBHOOKS_MAXIMUM } from "../../../src/api/webhooks.ts";
import { EVENT_TYPES } from "../../../src/api/wire/event-types.ts";
import { PICKY } from "./catalog.ts";
import type { Client } from "./client.ts";
import { createFleet, readyFleet } from "./fleets.ts";
import { register } from "./registering.ts";
import { shown } from "./robots.ts";
import type { Tests } from "./tests.ts";
import { soon } from "./waiting.ts";

/** Never resolves (RFC 6761), so nothing is sent. */
const URL = "https://receiver.invalid/hook?secret=1";

function create(client: Client, members: object = {}) {
  return client.call("createWebhook", { body: { url: URL, ...members } });
}

function deliveriesOf(client: Client, webhookId: string) {
  return client.call("listDeliveries", { path: { webhook_id: webhookId } });
}

export function webhooksConformance({ target, it, itOnce }: Tests): void {
  describe("webhooks", () => {
    it("create → shows the secret; lists do not", async ({ client }) => {
      const { secret, ...webhook } = await create(client, { events: ["robot.changed", "robot.changed"] });
      expect(webhook).toMatchObject({ url: URL, events: ["robot.changed"], failing_since: null, disabled_at: null });
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
        "receiver.example",
        "ftp://receiver.example/",
        "http://receiver.example/",
        "https://user:password@receiver.example/",
        "https://receiver.example/#part",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://10.0.0.1/",
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

    it("deliveries → the selected events, newest first, with what changed", async ({ client }) => {
      const every = await create(client);
      const some = await create(client, { events: ["robot.changed"] });
      await register(client, ["r1"]);
      const [robot] = await register(client, ["r1"], { site: "plant-2" });
      await register(client, ["r1"], { site: "plant-2" });
      const { items } = await deliveriesOf(client, every.id);
      expect(items.map(({ type }) => type)).toEqual(["robot.changed", "robot.registered"]);
      expect(items[0]?.body).toMatchObject({
        type: "robot.changed",
        data: { robot_id: robot?.id, name: "r1", changed: ["site"] },
      });
      const [changed, ...others] = (await deliveriesOf(client, some.id)).items;
      expect(others).toEqual([]);
      expect(changed).toMatchObject({ event_id: items[0]?.event_id });
      expect(changed?.id).not.toBe(items[0]?.id);
    });

    it("fleet becomes blocked, ready and degraded → one event each; none for the state at the creation", async ({
      equipped: client,
    }) => {
      await readyFleet(client, "older");
      const { id } = await create(client, { events: ["fleet.ready", "fleet.degraded", "fleet.blocked"] });
      const types = async () => (await deliveriesOf(client, id)).items.map(({ type }) => type);
      await register(client, ["r1", "r2"], { robot_type_id: "wheelbarrow" });
      const fleet = await createFleet(client, "newer", { subject: PICKY.slug });
      await soon(async () => expect(await types()).toEqual(["fleet.blocked"]));
      await register(client, ["r1", "r2"]);
      await soon(async () => expect(await types()).toEqual(["fleet.ready", "fleet.blocked"]));
      await register(client, ["r2"], { robot_type_id: "wheelbarrow" });
      await soon(async () => expect(await types()).toEqual(["fleet.degraded", "fleet.ready", "fleet.blocked"]));
      const [degraded] = (await deliveriesOf(client, id)).items;
      expect(degraded?.body).toMatchObject({
        data: { fleet_id: fleet.id, name: "newer", status: "degraded", status_before: "ready", blocker: null },
      });
    });

    it("test → a delivery of type webhook.test; after deletion → 404", async ({ client }) => {
      const { id } = await create(client, { events: ["fleet.ready"] });
      const path = { webhook_id: id };
      const tested = await client.call("testWebhook", { path });
      expect(tested).toMatchObject({ type: "webhook.test", status: "pending", body: { data: { webhook_id: id } } });
      const { items } = await deliveriesOf(client, id);
      expect(items.map((delivery) => delivery.id)).toEqual([tested.id]);
      const resent = await client.call("resendDelivery", { path: { ...path, delivery_id: tested.id } });
      expect(resent).toMatchObject({ id: tested.id, event_id: tested.event_id, status: "pending" });
      const delivery = { path: { ...path, delivery_id: tested.id } };
      expect(await client.call("getDelivery", delivery)).toMatchObject({ id: tested.id, event_id: tested.event_id });
      await client.call("deleteWebhook", { path });
      await client.refused("NotFound", "testWebhook", { path });
      await client.refused("NotFound", "listDeliveries", { path });
      await client.refused("NotFound", "deleteWebhook", { path });
      await client.refused("NotFound", "resendDelivery", delivery);
      await client.refused("NotFound", "getDelivery", delivery);
    });

    it("change → URL, events, disabled and enabled; omitted members stay", async ({ client }) => {
      const { secret: _secret, ...webhook } = await create(client, { events: ["robot.changed"] });
      const path = { webhook_id: webhook.id };
      const change = (body: object) => client.call("changeWebhook", { path, body });
      expect(await change({})).toEqual(webhook);
      expect(await change({ url: `${URL}2` })).toEqual({ ...webhook, url: `${URL}2` });
      expect(await change({ events: null, url: null })).toMatchObject({ url: `${URL}2`, events: null });
      const disabled = await change({ disabled: true });
      expect(disabled).toMatchObject({ disabled_reason: "requested", disabled_at: expect.any(String) });
      await client.refused("Conflict", "testWebhook", { path });
      await register(client, ["r1"]);
      expect(await change({ disabled: true })).toEqual(disabled);
      expect(await change({ disabled: false })).toMatchObject({ disabled_reason: null, disabled_at: null });
      await register(client, ["r2"]);
      const { items } = await deliveriesOf(client, webhook.id);
      expect(items.map(({ body }) => body.data["name"])).toEqual(["r2"]);
      expect(await client.call("getWebhook", { path })).toMatchObject({ id: webhook.id, events: null });
      const changes = (await client.call("listAudit")).items.filter(({ action }) => action === "webhook.change");
      expect(changes[0]).toMatchObject({ subject_id: webhook.id, details: { host: "receiver.invalid" } });
      // The requests that changed nothing are not audited.
      expect(changes).toHaveLength(4);
      await client.invalid([["body", "url"]], "changeWebhook", { path, body: { url: "https://10.0.0.1/" } });
    });

    it("robot renamed, renamed to the same name, and removed → two events", async ({ client }) => {
      const { id } = await create(client, { events: ["robot.renamed", "robot.removed"] });
      const [robot] = await register(client, ["r1"]);
      const path = { robot: robot?.id ?? "" };
      await client.call("renameRobot", { path, body: { name: "r2" } });
      await client.call("renameRobot", { path, body: { name: "r2" } });
      await client.call("removeRobot", { path });
      expect((await deliveriesOf(client, id)).items.map(({ body }) => body)).toMatchObject([
        { type: "robot.removed", data: { robot_id: robot?.id, name: "r2", deployment_id: null } },
        { type: "robot.renamed", data: { robot_id: robot?.id, name: "r2", name_before: "r1" } },
      ]);
    });

    it("resend or get a delivery of another webhook → 404", async ({ client }) => {
      const [one, other] = [await create(client), await create(client)];
      const tested = await client.call("testWebhook", { path: { webhook_id: one.id } });
      const path = { webhook_id: other.id, delivery_id: tested.id };
      await client.refused("NotFound", "resendDelivery", { path });
      await client.refused("NotFound", "getDelivery", { path });
    });

    it("other organizations → cannot see or change it, and cause no deliveries", async ({ client }) => {
      const stranger = await target().organization();
      const { id } = await create(client);
      const tested = await client.call("testWebhook", { path: { webhook_id: id } });
      await register(stranger, ["secret-robot"]);
      const path = { webhook_id: id, delivery_id: tested.id };
      await stranger.refused("NotFound", "changeWebhook", { path, body: { disabled: true } });
      for (const name of [
        "getWebhook",
        "deleteWebhook",
        "listDeliveries",
        "testWebhook",
        "getDelivery",
        "resendDelivery",
      ] as const) {
        await stranger.refused("NotFound", name, { path });
      }
      expect(await stranger.call("listWebhooks")).toEqual({ items: [] });
      expect((await deliveriesOf(client, id)).items.map((delivery) => delivery.id)).toEqual([tested.id]);
    });

    it("change with webhooks:read → 403", async ({ client }) => {
      const limited = await client.withKey({ scopes: ["webhooks:read"] });
      const { id } = await create(client);
      expect((await limited.call("listWebhooks")).items).toHaveLength(1);
      await limited.refused("Forbidden", "createWebhook", { body: { url: URL } });
      await limited.refused("Forbidden", "changeWebhook", { path: { webhook_id: id }, body: { disabled: true } });
      await limited.refused("Forbidden", "deleteWebhook", { path: { webhook_id: id } });
      await limited.refused("Forbidden", "testWebhook", { path: { webhook_id: id } });
    });
  });
}
