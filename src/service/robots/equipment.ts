import { hash } from "node:crypto";

import * as z from "zod";

import { type CatalogRow, CATALOG_ROWS } from "../../manifest/catalog/rows.ts";
import { catalogAxes } from "../../manifest/custom/contract.ts";
import type { Tables } from "../kernel/store/tables.ts";

const axisSchema = z.object({
  /** `group.element.quantity`. */
  name: z.string(),
  /** Canonical, such as `rad/s`; null if the contract has none. */
  unit: z.string().nullable(),
});

const equipmentSchema = z.object({
  camera_roles: z.array(z.string()).nullable(),
  state_axes: z.array(axisSchema).nullable(),
  action_axes: z.array(axisSchema).nullable(),
});

/** One element of a state or action vector. */
export type Axis = Readonly<z.output<typeof axisSchema>>;

/** A robot's sensors and actuators. Null means unknown, not none. */
export interface Equipment {
  readonly camera_roles: readonly string[] | null;
  readonly state_axes: readonly Axis[] | null;
  readonly action_axes: readonly Axis[] | null;
}

const UNKNOWN: Equipment = { camera_roles: null, state_axes: null, action_axes: null };

/** The equipment of a type in the ready catalog; unknown for other types. */
export function catalogEquipment(robotTypeId: string): Equipment {
  return EQUIPMENT_BY_TYPE.get(robotTypeId) ?? UNKNOWN;
}

/**
 * The equipment that a contract describes. A contract is complete: the robot has nothing that it does not name.
 *
 * @param contract any JSON; members and items that do not have a contract's shape are ignored.
 */
export function contractEquipment(contract: unknown): Equipment {
  const { cameras, state_axes: stateAxes, action_axes: actionAxes } = contractSchema.parse(contract);
  return { camera_roles: cameras.map(({ role }) => role), state_axes: stateAxes, action_axes: actionAxes };
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
  return {
    camera_roles: row.cameras === "user" ? null : row.cameras.map(({ role }) => role),
    state_axes: stateAxes.map(nameAndUnit),
    action_axes: actionAxes.map(nameAndUnit),
  };
}

function nameAndUnit({ name, unit }: Axis): Axis {
  return { name, unit };
}

/** Computed once; must come after the schemas and functions above. */
const EQUIPMENT_BY_TYPE: ReadonlyMap<string, Equipment> = new Map(
  CATALOG_ROWS.map((row) => [row.robot_type_id, rowEquipment(row)]),
);

/** The columns that a checkpoint's requirements are compared with. @param contract JSON text. */
export function equipmentOf(contract: string | null): Pick<Tables["robots"], "equipment" | "equipment_sha256"> {
  if (contract === null) return { equipment: null, equipment_sha256: null };
  const equipment = JSON.stringify(contractEquipment(JSON.parse(contract)));
  return { equipment, equipment_sha256: hash("sha256", equipment) };
}
