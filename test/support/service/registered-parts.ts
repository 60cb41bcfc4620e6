/** Robots that register, and say which files and devices their digests cover, as agents do. */
import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";

import { expect } from "vitest";
import * as z from "zod";

import type { RobotContract } from "../../../src/api/contract.ts";
import { partsRecordedSchema, type RegistrationPart } from "../../../src/api/differences.ts";
import { configurationDigest } from "../../../src/look/digest.ts";
import type { RunningService } from "./service.ts";

/** A part of a registration, and its content. */
export interface Entry {
  readonly part: RegistrationPart;
  readonly text: string;
}

export function file(label: string, text: string, shared = true): Entry {
  const part = { label, kind: "file", sha256: hash("sha256", text), bytes: Buffer.byteLength(text), shared } as const;
  return { part, text };
}

export function camera(label: string, serial: string): Entry {
  const line = JSON.stringify({ bus: "usb", product: "082d", serial, vendor: "046d" });
  const { part, text } = file(label, line, false);
  return { part: { ...part, kind: "device", line }, text };
}

/** Of a LeRobot arm. */
export function calibration(offset: number, gripper: object = { drive_mode: 0 }): string {
  return JSON.stringify(
    { shoulder_pan: { homing_offset: offset }, gripper: { homing_offset: 5, ...gripper } },
    null,
    4,
  );
}

export function digestOf(entries: readonly Entry[]): string {
  return configurationDigest(entries.map(({ part }) => part.sha256));
}

export async function setUp(
  { send }: RunningService,
  name: string,
  entries: readonly Entry[],
  more: object = {},
): Promise<Response> {
  const body = { name, robot_type_id: "so101", region: "us-west-2", configuration_digest: digestOf(entries), ...more };
  const answer = await send("POST", "/v1/robots/setup", body);
  expect([answer.status, await answer.clone().text()]).toEqual([200, expect.anything()]);
  return answer;
}

/** As an agent does after a registration. @returns how many contents were sent. */
export async function tell({ send }: RunningService, name: string, entries: readonly Entry[]): Promise<number> {
  const body = { configuration_digest: digestOf(entries), parts: entries.map(({ part }) => part) };
  const answer = await send("PUT", `/v1/robots/${name}/registration/parts`, body);
  expect(answer.status).toBe(200);
  const { missing } = partsRecordedSchema.parse(await answer.json());
  for (const sha256 of missing) {
    const text = entries.find(({ part }) => part.sha256 === sha256)?.text;
    expect((await send("PUT", `/v1/robots/${name}/contents/${sha256}`, { text })).status).toBe(200);
  }
  return missing.length;
}

export async function register(
  service: RunningService,
  name: string,
  entries: readonly Entry[],
  more: object = {},
): Promise<number> {
  await setUp(service, name, entries, more);
  return tell(service, name, entries);
}

export async function contractOfSo101(): Promise<RobotContract> {
  const example = new URL("../../golden/robot-manifest/examples/so101.contract.json", import.meta.url);
  return JSON.parse(await readFile(example, "utf8"));
}

const createdSchema = z.object({ id: z.string() });

/** A fleet of nine robots, of which cell-4 has a file more, and of a tenth, `quiet`, that did not tell its parts. @returns its id. */
export async function createFleetWithOutlier(service: RunningService): Promise<string> {
  const names = Array.from({ length: 9 }, (_, index) => `cell-${index}`);
  for (const [index, name] of names.entries()) {
    const entries = [file("limits.yaml", "torque: 40\n"), file("right arm", calibration(index))];
    await register(service, name, index === 4 ? [...entries, file("extra.yaml", "x: 1\n")] : entries);
  }
  await setUp(service, "quiet", [file("limits.yaml", "torque: 40\n")]);
  const created = await service.send("POST", "/v1/fleets", {
    name: "packing",
    subject: "m",
    selection: { robots: [...names, "quiet"] },
    peak_active_robots: 1,
    readiness_mode: "always_ready",
  });
  expect(created.status).toBe(200);
  return createdSchema.parse(await created.json()).id;
}
