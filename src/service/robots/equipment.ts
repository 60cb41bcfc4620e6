import { hash } from "node:crypto";

import * as z from "zod";

import type { RobotContract } from "../../api/contract.ts";
import { PART_KINDS, type RegistrationPart } from "../../api/differences.ts";
import { isContract } from "../../api/is-contract.ts";
import { comparedValue } from "../../differences/outliers.ts";
import { type CatalogRow, CATALOG_ROWS } from "../../manifest/catalog/rows.ts";
import { catalogAxes } from "../../manifest/custom/contract.ts";
import type { Tables } from "../kernel/store/tables.ts";

const axisSchema = z.object({
  /** `group.element.quantity`. */
  name: z.string(),
  /** Canonical, such as `rad/s`; null if the contract has none. */
  unit: z.string().nullable(),
  /** How the robot's own numbers become canonical ones: scale × native + offset. */
  native: z.object({ unit: z.string(), scale: z.number(), offset: z.number() }).optional(),
  /** Canonical; null for no limits. */
  range: z.tuple([z.number(), z.number()]).nullable().optional(),
});

const cameraSchema = z.object({
  role: z.string(),
  mount: z.string().optional(),
  side: z.string().optional(),
  width: z.number().optional(),
  height: z.number().optional(),
  rotation_degrees: z.number().optional(),
});

/** Parts of a registration, from the store: three times as fast as the schema of the wire, for the thousand robots of a fleet. */
export const storedPartsSchema = z
  .array(
    z.object({
      label: z.string(),
      kind: z.enum(PART_KINDS),
      sha256: z.string(),
      bytes: z.number(),
      line: z.string().nullish(),
      shared: z.boolean(),
    }),
  )
  .readonly();

/** A robot's sensors and actuators, and what its digest covers. Null or absent means unknown, not none. */
export const equipmentSchema = z
  .object({
    camera_roles: z.array(z.string()).readonly().nullable(),
    state_axes: z.array(axisSchema).readonly().nullable(),
    action_axes: z.array(axisSchema).readonly().nullable(),
    cameras: z.array(cameraSchema).readonly().optional(),
    control_rate_hz: z.number().optional(),
    /** By label, without what each device has of its own, so that equal robots have equal equipment. */
    devices: z
      .array(z.object({ label: z.string(), model: z.string() }))
      .readonly()
      .optional(),
    /** Only of a robot that a checkpoint was trained on: it is compared with itself. */
    self: z.object({ robot_id: z.string(), parts: storedPartsSchema }).optional(),
  })
  .readonly();

/** One element of a state or action vector. */
export type Axis = Readonly<z.output<typeof axisSchema>>;
export type EquippedCamera = Readonly<z.output<typeof cameraSchema>>;
export type Equipment = z.output<typeof equipmentSchema>;

const UNKNOWN: Equipment = { camera_roles: null, state_axes: null, action_axes: null };

/** The equipment of a type in the ready catalog; unknown for other types. */
export function catalogEquipment(robotTypeId: string): Equipment {
  return EQUIPMENT_BY_TYPE.get(robotTypeId) ?? UNKNOWN;
}

/** All that is known of a robot: what its contract says, or else its type in the ready catalog, and what its digest covers. */
export function knownEquipment(robotTypeId: string, stored: Equipment | null): Equipment {
  if (stored === null) return catalogEquipment(robotTypeId);
  if (isFromContract(stored)) return stored;
  const { devices, self } = stored;
  return { ...catalogEquipment(robotTypeId), devices, self };
}

export function isFromContract({ state_axes: stateAxes }: Equipment): boolean {
  return stateAxes !== null;
}

/**
 * The equipment that a contract describes. A contract is complete: the robot has nothing that it does not name.
 *
 * @param contract any JSON; members and items that do not have a contract's shape are ignored.
 */
export function contractEquipment(contract: unknown): Equipment {
  const { cameras, state_axes: stateAxes, action_axes: actionAxes } = contractSchema.parse(contract);
  const named = { camera_roles: cameras.map(({ role }) => role), state_axes: stateAxes, action_axes: actionAxes };
  // What is absent from another kind of contract is not known.
  if (typeof contract !== "object" || contract === null || !isContract(contract)) return named;
  return {
    camera_roles: named.camera_roles,
    state_axes: contract.state_axes.map(axisTraits),
    action_axes: contract.action_axes.map(axisTraits),
    cameras: contract.cameras.map(cameraTraits),
    control_rate_hz: contract.control_rate_hz,
  };
}

function axisTraits({ name, unit, native, range }: RobotContract["state_axes"][number]): Axis {
  const own = native ?? { unit: unit === "1" ? "ratio" : unit, scale: 1, offset: 0 };
  return { name, unit, native: { ...own }, range: range === undefined ? null : [range[0], range[1]] };
}

function cameraTraits({ role, mount, side, width, height, rotation_degrees }: EquippedCamera): EquippedCamera {
  return { role, mount, side, width, height, rotation_degrees };
}

/**
 * Parses equipment from the store.
 *
 * @throws if the text is no `Equipment`.
 */
export function parseEquipment(text: string): Equipment {
  return equipmentSchema.parse(JSON.parse(text));
}

/** A list without the items that do not have this shape. */
function itemsOf<Item>(item: z.ZodType<Item>) {
  const items = z.array(z.unknown()).transform((given) =>
    given.flatMap((each) => {
      const read = item.safeParse(each);
      return read.success ? [read.data] : [];
    }),
  );
  return items.catch([]);
}

const axes = itemsOf(axisSchema.extend({ unit: axisSchema.shape.unit.catch(null) }));

const contractSchema = z
  .object({ cameras: itemsOf(z.object({ role: z.string() })), state_axes: axes, action_axes: axes })
  .catch({ cameras: [], state_axes: [], action_axes: [] });

function rowEquipment(row: CatalogRow): Equipment {
  const { state_axes: stateAxes, action_axes: actionAxes } = catalogAxes(row);
  const cameras = row.cameras === "user" ? undefined : row.cameras.map(cameraTraits);
  return {
    camera_roles: cameras?.map(({ role }) => role) ?? null,
    state_axes: stateAxes.map(rowAxis),
    action_axes: actionAxes.map(rowAxis),
    cameras,
    control_rate_hz: row.control_rate_hz,
  };
}

/** Limits that the catalog does not have are not known. */
function rowAxis(axis: RobotContract["state_axes"][number]): Axis {
  const traits = axisTraits(axis);
  return traits.range === null ? { ...traits, range: undefined } : traits;
}

/** Computed once; must come after the schemas and functions above. */
const EQUIPMENT_BY_TYPE: ReadonlyMap<string, Equipment> = new Map(
  CATALOG_ROWS.map((row) => [row.robot_type_id, rowEquipment(row)]),
);

/** What parts of a digest add to a robot's equipment. */
export type Covered = Pick<Equipment, "devices" | "self">;

/** Devices, and the characters of a label and a line, that are compared: what a hostile robot sends stays bounded. */
const DEVICES_MAXIMUM = 64;
const LABEL_LENGTH = 256;
const LINE_LENGTH = 1024;
/** Characters of the exact parts of a robot; of one with more, they are not compared. 64 files take some 10,000. */
const PARTS_LENGTH = 65_536;

/** @param referenceId id of a robot that a checkpoint was trained on; null for any other. */
export function coveredBy(parts: readonly RegistrationPart[], referenceId: string | null): Covered {
  const devices = parts
    // A path stands for a label where the manifest has none, and may hold the serial number.
    .filter(({ kind, label, line }) => kind === "device" && !label.startsWith("/") && typeof line === "string")
    .filter(({ label, line }) => label.length <= LABEL_LENGTH && (line ?? "").length <= LINE_LENGTH)
    .map((part) => ({ label: part.label, model: comparedValue(part) }))
    .toSorted((one, other) => (one.label < other.label ? -1 : 1))
    .slice(0, DEVICES_MAXIMUM);
  const isCompared = referenceId !== null && JSON.stringify(parts).length <= PARTS_LENGTH;
  return isCompared ? { devices, self: { robot_id: referenceId, parts } } : { devices };
}

/** The columns that a checkpoint's requirements are compared with. @param contract JSON text. @param covered null while it is not known. */
export function equipmentOf(
  contract: string | null,
  covered: Covered | null = null,
): Pick<Tables["robots"], "equipment" | "equipment_sha256"> {
  if (contract === null && covered === null) return { equipment: null, equipment_sha256: null };
  const described = contract === null ? UNKNOWN : contractEquipment(JSON.parse(contract));
  const equipment = JSON.stringify({ ...described, ...covered });
  return { equipment, equipment_sha256: hash("sha256", equipment) };
}
