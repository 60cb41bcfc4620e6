import { describe, expect, it } from "vitest";

import { readCatalog } from "../../../../src/service/models/catalog.ts";
import { type CatalogPlan, planCatalog, type StoredCatalog } from "../../../../src/service/models/plan.ts";

const NOW = "2026-03-01T00:00:00.000Z";
const LATER = "2026-03-02T00:00:00.000Z";
const NOTHING: StoredCatalog = { models: [], checkpoints: [], endpoints: [] };

const PI =
  "{slug: pi, checkpoints: [{id: ckpt_pi, created_at: 2026-01-01, endpoints: [{region: us, url: http://gpu}]}]}";

function catalog(...models: readonly string[]) {
  const { value, findings, locate } = readCatalog(Buffer.from(`models: [${models.join(", ")}]`));
  if (value === null) throw new Error(JSON.stringify(findings));
  return { catalog: value, locate };
}

type Planned = Extract<CatalogPlan, { state: "planned" }>;

function plan(stored: StoredCatalog, wanted: ReturnType<typeof catalog>, now = LATER): Planned {
  const made = planCatalog(stored, wanted, now);
  if (made.state !== "planned") throw new Error(JSON.stringify(made));
  return made;
}

/** The stored rows after a plan has been applied. */
function carryOut(before: StoredCatalog, { models, checkpoints, endpoints }: Planned): StoredCatalog {
  const replace = <Row>(rows: readonly Row[], written: readonly Row[], keyOf: (row: Row) => string) => [
    ...new Map([...rows, ...written].map((row) => [keyOf(row), row])).values(),
  ];
  return {
    models: replace(before.models, models, ({ slug }) => slug),
    checkpoints: replace(before.checkpoints, checkpoints, ({ id }) => id),
    endpoints: replace(before.endpoints, endpoints, (row) => `${row.checkpoint_id} ${row.region}`),
  };
}

/** The store after applying `PI` and a healthy probe of its endpoint. */
function storedPi(): StoredCatalog {
  const stored = carryOut(NOTHING, plan(NOTHING, catalog(PI), NOW));
  const [endpoint] = stored.endpoints;
  if (endpoint === undefined) throw new Error("no endpoint");
  return { ...stored, endpoints: [{ ...endpoint, health: "healthy", health_since: NOW, probe_id: "p" }] };
}

function changes({ changes: all }: Planned): readonly string[] {
  return all.map(({ change, kind, name, region }) => `${change} ${kind} ${name}${region === null ? "" : ` ${region}`}`);
}

describe("planCatalog", () => {
  it("empty store → inserts everything, endpoints unknown and due", () => {
    const made = plan(NOTHING, catalog(PI), NOW);
    expect(changes(made)).toEqual(["added model pi", "added checkpoint ckpt_pi", "added endpoint ckpt_pi us"]);
    expect(made.models).toMatchObject([{ slug: "pi", default_checkpoint_id: "ckpt_pi", created_at: NOW }]);
    expect(made.endpoints).toMatchObject([{ health: "unknown", next_probe_at: NOW, probe_id: null }]);
  });

  it("same catalog → no changes, no writes", () => {
    const made = plan(storedPi(), catalog(PI));
    expect([made.changes, made.models, made.checkpoints, made.endpoints]).toEqual([[], [], [], []]);
  });

  it.each([
    ["display_name: Pi", "changed model pi"],
    ["vendor: us", "changed model pi"],
    ["model_type: vla", "changed model pi"],
    ["license_tier: open", "changed model pi"],
  ])("model with a changed %s → only %s, created_at stays", (line, expected) => {
    const made = plan(storedPi(), catalog(PI.replace("slug: pi,", `slug: pi, ${line},`)));
    expect(changes(made)).toEqual([expected]);
    expect(made.models).toMatchObject([{ created_at: NOW }]);
  });

  it("changed requirements → accepted", () => {
    const wanted = catalog(PI.replace("endpoints:", "requirements: {camera_roles: [top]}, endpoints:"));
    const made = plan(storedPi(), wanted);
    expect(changes(made)).toContain("changed checkpoint ckpt_pi");
    expect(made.checkpoints[0]?.requirements).toContain('"camera_roles":["top"]');
  });

  it("another url, same health_url → the health stays", () => {
    const wanted = catalog(PI.replace("http://gpu", "http://gpu2, health_url: http://gpu/health"));
    const after = carryOut(storedPi(), plan(storedPi(), wanted));
    expect(after.endpoints).toMatchObject([
      { url: "http://gpu2", health: "healthy", health_since: NOW, probe_id: "p" },
    ]);
  });

  it("another health_url → health unknown, a running probe loses its lease", () => {
    const wanted = catalog(PI.replace("http://gpu", "http://gpu, health_url: http://gpu/ok"));
    const after = carryOut(storedPi(), plan(storedPi(), wanted));
    expect(after.endpoints).toMatchObject([
      { health: "unknown", health_since: null, probe_id: null, next_probe_at: LATER },
    ]);
  });

  it("removed endpoint → withdrawn; added again → unknown", () => {
    const gone = plan(storedPi(), catalog(PI.replace("[{region: us, url: http://gpu}]", "[]")));
    expect(changes(gone)).toContain("withdrawn endpoint ckpt_pi us");
    const without = carryOut(storedPi(), gone);
    expect(without.endpoints).toMatchObject([{ withdrawn_at: LATER, health: "healthy" }]);
    const back = plan(without, catalog(PI));
    expect(changes(back)).toContain("added endpoint ckpt_pi us");
    expect(carryOut(without, back).endpoints).toMatchObject([{ withdrawn_at: null, health: "unknown" }]);
  });

  it("another way to tell the model → not probed yet; the value is the checkpoint's id unless given", () => {
    const stored = storedPi();
    const member = plan(stored, catalog(PI.replace("url:", "model_member: model.id, url:")));
    const told = { model_member: "model.id", model_value: "ckpt_pi", health: "unknown", probe_id: null };
    expect(carryOut(stored, member).endpoints).toMatchObject([told]);
    const later = carryOut(stored, member);
    expect(changes(plan(later, catalog(PI.replace("url:", "model_member: model.id, url:"))))).toEqual([]);
    const value = plan(later, catalog(PI.replace("url:", "model_member: model.id, model_value: pi05, url:")));
    expect(carryOut(later, value).endpoints).toMatchObject([{ ...told, model_value: "pi05" }]);
  });

  it("removed model → withdrawn with its checkpoints; its endpoints keep serving, healthy or not", () => {
    const made = plan(storedPi(), catalog());
    expect(changes(made)).toEqual(["withdrawn model pi", "withdrawn checkpoint ckpt_pi"]);
    expect(carryOut(storedPi(), made)).toMatchObject({
      models: [{ withdrawn_at: LATER }],
      checkpoints: [{ withdrawn_at: LATER }],
      endpoints: [{ withdrawn_at: null, health: "healthy" }],
    });
  });

  it("withdrawn model → not withdrawn again; added again → as before", () => {
    const without = carryOut(storedPi(), plan(storedPi(), catalog()));
    expect(changes(plan(without, catalog()))).toEqual([]);
    const back = plan(without, catalog(PI));
    expect(changes(back)).toEqual(["added model pi", "added checkpoint ckpt_pi"]);
    expect(carryOut(without, back)).toEqual(storedPi());
  });

  it("checkpoint of another model, even a withdrawn one → refused", () => {
    const moved = catalog(PI.replace("slug: pi", "slug: other"));
    const expected = {
      state: "refused",
      findings: [{ id: "checkpoint_moved", loc: "/models/0/checkpoints/0/id", line: 1 }],
    };
    expect(planCatalog(storedPi(), moved, LATER)).toMatchObject(expected);
    const without = carryOut(storedPi(), plan(storedPi(), catalog()));
    expect(planCatalog(without, moved, LATER)).toMatchObject(expected);
  });
});
