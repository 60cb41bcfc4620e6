import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import {
  createUserCode,
  decide,
  readUserCode,
  regionOf,
  showUserCode,
} from "../../../../src/service/identity/approval.ts";
import {
  createPruneEnrolments,
  type EnrolmentRow,
  type EnrolmentState,
  isFoundBy,
  shownOf,
  stateAt,
  UNDECIDED,
} from "../../../../src/service/identity/enrolments.ts";
import { isAnswer } from "../../../../src/service/kernel/http/answers.ts";
import { robotNameOf } from "../../../../src/service/robots/index.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { openServiceParts } from "../../../support/service/service-parts.ts";

const START = "2026-03-01T12:00:00.000Z";
const END = "2026-03-01T12:10:00.000Z";
const BEFORE_END = "2026-03-01T12:09:59.999Z";

const pending: EnrolmentRow = {
  ...UNDECIDED,
  id: "renr_1",
  public_key: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
  user_code: "ABCDEFGH",
  poll_token_sha256: "0".repeat(64),
  requested_name: "arm-1",
  region: null,
  site_inference: null,
  site: null,
  labels: "{}",
  configuration_digest: `sha256:${"0".repeat(64)}`,
  robot_type_id: null,
  contract: null,
  wanted_organization_id: null,
  client_address: "192.0.2.1",
  client_site: "192.0.2.1",
  created_at: START,
  expires_at: END,
  confirm_replace: 0,
  installation_id: null,
};
const installed: Partial<EnrolmentRow> = { status: "approved", installation_id: "rinst_1" };

describe("stateAt", () => {
  it.each<[what: string, row: Partial<EnrolmentRow>, at: string, state: EnrolmentState]>([
    ["pending", {}, START, "pending"],
    ["pending, right before its end", {}, BEFORE_END, "pending"],
    ["pending, at its end", {}, END, "expired"],
    ["approved", { status: "approved" }, BEFORE_END, "approved"],
    ["approved, at its end", { status: "approved" }, END, "expired"],
    ["installed", installed, BEFORE_END, "installed"],
    ["installed, at its end", installed, END, "consumed"],
    ["denied", { status: "denied" }, START, "denied"],
    ["denied, after its end", { status: "denied" }, END, "denied"],
    ["expired", { status: "expired" }, START, "expired"],
    ["consumed", { ...installed, status: "consumed" }, START, "consumed"],
    ["consumed, after its end", { ...installed, status: "consumed" }, END, "consumed"],
  ])("%s", (_what, row, at, state) => {
    expect(stateAt({ ...pending, ...row }, at)).toBe(state);
  });
});

describe("isFoundBy", () => {
  it.each<[what: string, row: Partial<EnrolmentRow>, isFound: boolean]>([
    ["undecided, for anyone", {}, true],
    ["undecided, for this organization", { wanted_organization_id: "org_1" }, true],
    ["undecided, for another one", { wanted_organization_id: "org_2" }, false],
    ["decided by this one", { organization_id: "org_1" }, true],
    ["decided by another one", { organization_id: "org_2" }, false],
    ["for this one, decided by another one", { wanted_organization_id: "org_1", organization_id: "org_2" }, false],
  ])("%s", (_what, row, isFound) => {
    expect(isFoundBy({ ...pending, ...row }, "org_1")).toBe(isFound);
  });
});

describe("robotNameOf", () => {
  it.each<[sent: string, name: string | null]>([
    ["arm-1", "arm-1"],
    ["  ARM-1\n", "arm-1"],
    ["7", "7"],
    ["a".repeat(64), "a".repeat(64)],
    ["a--b", "a--b"],
    ["a".repeat(65), null],
    ["-arm", null],
    ["arm-", null],
    ["arm 1", null],
    ["arm_1", null],
    ["arm.1", null],
    ["årm", null],
    ["rob_01h455vb4pex5vsknk084sn02q", null],
    ["", null],
    [" ", null],
    ["arm\n1", null],
  ])("%j → %j", (sent, name) => {
    expect(robotNameOf(sent)).toBe(name);
  });
});

describe("decide", () => {
  const enrolment = { requested_name: "Arm-1", region: "us-west-2" };

  it.each<[what: string, wish: Parameters<typeof decide>[1], name: string, region: string]>([
    ["as requested", {}, "arm-1", "us-west-2"],
    ["null counts as absent", { name: null, region: null }, "arm-1", "us-west-2"],
    ["the approver's values take precedence", { name: " B ", region: " X " }, "b", "x"],
    ["an empty region counts as none", { region: " " }, "arm-1", "us-west-2"],
  ])("%s", (_what, wish, name, region) => {
    expect(decide(enrolment, wish, "approver")).toEqual({ name, region });
  });

  it.each([
    ["the approver's name is invalid", enrolment, { name: "a b" }, "approver", "name", "a b"],
    ["the requested name is invalid", { ...enrolment, requested_name: "a b" }, {}, "approver", "name", "a b"],
    ["that of a computer", { ...enrolment, requested_name: "a b" }, {}, "computer", "requested_name", "a b"],
    ["no region at all", { ...enrolment, region: null }, {}, "approver", "region", null],
  ] as const)("%s → 422", (_what, row, wish, by, member, input) => {
    const decision = decide(row, wish, by);
    if (!isAnswer(decision)) throw new Error("It was decided");
    expect(JSON.parse(decision.json)).toMatchObject({ detail: [{ loc: ["body", member], input }] });
  });
});

describe("codes", () => {
  it("eight unambiguous letters and digits, evenly distributed", () => {
    const counts = new Map<string, number>();
    for (let made = 0; made < 5000; made += 1) {
      const code = createUserCode(systemRandom);
      expect(code).toMatch(/^[ABCDEFGHJKMNPQRSTUVWXYZ23456789]{8}$/);
      for (const letter of code) counts.set(letter, (counts.get(letter) ?? 0) + 1);
    }
    expect(counts.size).toBe(31);
    // 1290 each are expected, with a standard deviation of 35.
    for (const count of counts.values()) expect(Math.abs(count - 1290)).toBeLessThan(280);
  });

  it("bytes that would bias the distribution → skipped", () => {
    const bytes = [255, 248, 247, 0, 31, 30, 250, 62, 61, 1, 2, 3, 4, 5, 6, 7];
    let next = 0;
    const random = { unit: () => 0, bytes: (count: number) => Uint8Array.from(bytes.slice(next, (next += count))) };
    expect(createUserCode(random)).toBe("9AA9A9BC");
  });

  it("typed variants → read", () => {
    const code = createUserCode(systemRandom);
    const shown = showUserCode(code);
    expect(shown).toMatch(/^[A-Z2-9]{4}-[A-Z2-9]{4}$/);
    const letters = fc.constantFrom("", " ", "-", "\t", "\u00a0", "‑", "–", " - ");
    fc.assert(
      fc.property(fc.array(letters, { minLength: 9, maxLength: 9 }), fc.boolean(), (between, isLower) => {
        const typed = Array.from(code, (letter, index) => `${between[index]}${letter}`).join("") + between[8];
        expect(readUserCode(isLower ? typed.toLowerCase() : typed)).toBe(code);
      }),
    );
  });
});

it("region: lower-cased, empty → none", () => {
  expect([regionOf(" EU-West-1 "), regionOf(""), regionOf("  "), regionOf(null), regionOf(undefined)]).toEqual([
    "eu-west-1",
    null,
    null,
    null,
    null,
  ]);
});

it("log of an enrolment: its owner, but neither its code nor its token", () => {
  const shown = shownOf({ ...pending, key_id: "key_1" });
  expect(shown).toEqual({
    approval_id: "renr_1",
    requested_name: "arm-1",
    address: "192.0.2.1",
    key_fingerprint: "SHA256:If4x36FUomFia/hUBG/SJxt77UtqvkWqWId+9H+XIbk",
    key_id: "key_1",
  });
});

it("task: what is over expires, or is consumed where it has an installation; a day later it is deleted", async () => {
  await using parts = await openServiceParts();
  const { store, context, at, pass } = parts;
  const rows = [
    { ...pending, id: "renr_1", expires_at: at(1000) },
    { ...pending, ...installed, id: "renr_2", public_key: "b", user_code: "B", expires_at: at(1000) },
    { ...pending, id: "renr_3", public_key: "c", user_code: "C", expires_at: at(2000) },
  ];
  await store.write((transaction) => transaction.insertInto("enrolments").values(rows).execute());
  pass(1000);
  const task = createPruneEnrolments(context);
  const statuses = async () => {
    await task.run(new AbortController().signal);
    const stored = await store.reader.selectFrom("enrolments").select("status").orderBy("id").execute();
    return stored.map(({ status }) => status);
  };
  expect(await statuses()).toEqual(["expired", "consumed", "pending"]);
  pass(24 * 60 * 60_000 + 1);
  expect(await statuses()).toEqual(["expired"]);
});
