/**
 * The calibrations of LeRobot, whose numbers mean angles. Today's have an object a motor (`homing_offset`, `drive_mode`, `range_min`,
 * `range_max`), those until 2025 a list a quantity, in the order of `motor_names`.
 */
import * as z from "zod";

/** Steps a turn of the motors that LeRobot calibrates: Feetech STS3215, Dynamixel X (its tables of resolutions). */
const STEPS_A_TURN = 4096;
/** Quantities in steps. */
const STEPS: ReadonlySet<string> = new Set(["homing_offset", "range_min", "range_max", "start_pos", "end_pos"]);

const calibrationSchema = z.record(z.string(), z.looseObject({ homing_offset: z.number() }));

const formerSchema = z.looseObject({ motor_names: z.array(z.string()), homing_offset: z.array(z.number()) });

/** A calibration by motor, so that a difference names the motor; null for any other value. */
export function calibrationOf(value: object): object | null {
  const former = formerSchema.safeParse(value);
  const calibration = former.success ? byMotor(former.data) : value;
  return calibrationSchema.safeParse(calibration).success ? calibration : null;
}

function byMotor({ motor_names: motors, ...quantities }: z.output<typeof formerSchema>): object {
  const lists = Object.entries(quantities).filter((entry): entry is [string, unknown[]] => Array.isArray(entry[1]));
  return Object.fromEntries(
    motors.map((motor, index) => [motor, Object.fromEntries(lists.map(([name, list]) => [name, list[index]]))]),
  );
}

/** What the change of a value means in words; null where that is not known. @param path keys from the root. */
export type Meaning = (path: readonly string[], before: unknown, after: unknown) => string | null;

/** In a calibration: `17.1°`. */
export const meaningOfStep: Meaning = ([, quantity = "", ...deeper], before, after) => {
  if (typeof before !== "number" || typeof after !== "number" || deeper.length > 0) return null;
  if (quantity === "drive_mode") return "turns the other way";
  if (!STEPS.has(quantity)) return null;
  return `${Math.abs(((after - before) * 360) / STEPS_A_TURN).toFixed(1)}°`;
};
