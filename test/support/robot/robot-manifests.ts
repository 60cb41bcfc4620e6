/* oxlint-disable oxc/no-map-spread -- copies are what tests compare */
import * as fc from "fast-check";

/** A manifest as data, keys in the order of the specification. */
export type ManifestData = { readonly [key: string]: unknown };

/** Names that contain no side and do not look like a placeholder. */
const name = fc
  .stringMatching(/^[a-z][a-z0-9_]{0,11}$/)
  .filter((text) => !/(?:^|_)(?:left|right)(?:_|$)/.test(text) && !/^(?:replace|todo|tbd|fixme|change)/.test(text));
const names = (count: number) => fc.uniqueArray(name, { minLength: count, maxLength: count });
/** Numbers with few digits, so that a human could have written them and the test has no rounding errors of its own. */
const decimal = (low: number, high: number) =>
  fc.integer({ min: Math.ceil(low * 1000), max: Math.floor(high * 1000) }).map((thousandths) => thousandths / 1000);
const pair = (low: number, high: number) =>
  fc
    .tuple(decimal(low, high), decimal(low, high))
    .filter(([a, b]) => a !== b)
    .map(([a, b]) => [Math.min(a, b), Math.max(a, b)]);
const several = <T>(count: number, item: fc.Arbitrary<T>) => fc.array(item, { minLength: count, maxLength: count });

/** Limits, per unit, that cause no finding. */
const POSITIONS: Readonly<Record<string, readonly [number, number]>> = {
  rad: [-12, 12],
  deg: [-180, 180],
  m: [-5, 5],
  mm: [-5000, 5000],
  ratio: [0, 1],
  percent: [0, 100],
  calibrated_range: [-100, 100],
};
const SPEEDS: Readonly<Record<string, number>> = { rad: 50, deg: 2000, m: 10, mm: 9000 };

const joints = (kind: string, units: readonly string[], isLimb: boolean) =>
  fc.tuple(fc.constantFrom(...units), fc.integer({ min: 1, max: 6 })).chain(([unit, count]) => {
    const hasDimension = unit in SPEEDS;
    const [low, high] = POSITIONS[unit] ?? [0, 1];
    const position = several(count, pair(low, high));
    const speed = decimal(0.001, SPEEDS[unit] ?? 100);
    return fc.record({
      name,
      kind: fc.constant(kind),
      elements: names(count),
      unit: fc.constant(unit),
      ...(hasDimension ? { zero: fc.constantFrom("urdf", "driver", "calibrated_mid") } : {}),
      state: fc.uniqueArray(
        hasDimension ? fc.constantFrom("position", "velocity", "effort") : fc.constant("position"),
        { minLength: 1, maxLength: 3 },
      ),
      action: isLimb ? fc.constant("position") : fc.constantFrom("position", "none"),
      limits: fc.record({
        position,
        ...(hasDimension ? { velocity: fc.oneof(speed, several(count, speed)) } : {}),
      }),
    });
  });

const gripper = fc
  .tuple(fc.constantFrom("rad", "deg", "m", "mm", "ratio", "percent"), decimal(-100, 100), decimal(0.01, 100))
  .chain(([unit, closed, travel]) =>
    fc.record({
      name,
      kind: fc.constant("gripper"),
      unit: fc.constant(unit),
      aperture: fc.constantFrom({ closed, open: closed + travel }, { closed: closed + travel, open: closed }),
    }),
  );

const base = fc.constantFrom("m", "mm").chain((unit) =>
  fc.record({
    name,
    kind: fc.constant("base"),
    elements: fc.constant(["x", "y", "theta"]),
    unit: fc.constant(unit),
    angle_unit: fc.constant("deg"),
    limits: fc.record({
      velocity: fc.tuple(decimal(0.001, unit === "m" ? 10 : 9000), decimal(0.001, 10), decimal(0.001, 2000)),
    }),
  }),
);

const camera = fc.record({
  mount: fc.constantFrom("exterior", "wrist", "head", "base"),
  width: fc.integer({ min: 32, max: 4096 }),
  height: fc.integer({ min: 32, max: 4096 }),
  fps: fc.integer({ min: 1, max: 240 }),
  rotation_degrees: fc.constantFrom(0, 90, 180, 270),
});

/** A manifest without findings: one arm, its optional equipment, and cameras. */
export const robotManifest: fc.Arbitrary<ManifestData> = fc
  .record({
    arm: joints("arm", ["rad", "deg", "calibrated_range"], true),
    more: fc.array(
      fc.oneof(
        joints("head", ["rad", "deg"], false),
        joints("torso", ["rad", "m", "mm"], false),
        joints("hand", ["rad", "ratio", "percent"], false),
        gripper,
      ),
      { maxLength: 3 },
    ),
    base: fc.option(base, { nil: undefined }),
    cameras: fc.array(camera, { minLength: 1, maxLength: 4 }),
    rate: fc.integer({ min: 1, max: 200 }),
    display_name: fc.option(fc.constantFrom("Bench 2", "Zelle Süd", "手 1"), { nil: undefined }),
  })
  .filter(({ more }) => ["hand", "gripper"].every((kind) => more.filter((group) => group.kind === kind).length < 2))
  .map(({ arm, more, base: mobile, cameras, rate, display_name: displayName }) => ({
    robot_type_id: "acme.generated.v1",
    ...(displayName === undefined ? {} : { display_name: displayName }),
    topology: mobile === undefined ? "single_arm" : "mobile_manipulator",
    action_semantics: "joint_position",
    control_rate_hz: rate,
    groups: [arm, ...more, ...(mobile === undefined ? [] : [mobile])].map((group, index) => ({
      ...group,
      name: `g${index}_${group.name}`.slice(0, 64),
    })),
    cameras: cameras.map((item, index) => ({ role: `camera_${index}`, ...item })),
    configuration_files: ["/etc/robot/calibration.yaml"],
  }));

/** The same data with the keys of every mapping in another order. */
export function shuffleKeys(value: unknown, random: () => number): unknown {
  if (Array.isArray(value)) return value.map((item) => shuffleKeys(item, random));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, member]) => [key, shuffleKeys(member, random)] as const);
  for (let index = entries.length - 1; index > 0; index -= 1) {
    const other = Math.floor(random() * (index + 1));
    [entries[index], entries[other]] = [entries[other]!, entries[index]!];
  }
  return Object.fromEntries(entries);
}

/** The same manifest with its defaults written out. */
export function withDefaults(manifest: ManifestData): ManifestData {
  const groups = manifest["groups"] as readonly ManifestData[];
  const cameras = manifest["cameras"] as readonly ManifestData[];
  const hasGripper = groups.some(({ kind }) => kind === "gripper");
  return {
    schema: "robot-manifest/v1",
    status: "ready",
    gripper: hasGripper ? "continuous" : "none",
    ...manifest,
    groups: groups.map((group) => ({
      side: "none",
      ...(group["kind"] === "gripper" ? GRIPPER_DEFAULTS : {}),
      ...group,
    })),
    cameras: cameras.map((item) => ({ color_space: "rgb", pixel_dtype: "uint8", ...item })),
    "x-note": ["ignored", { deep: null }],
  };
}

const GRIPPER_DEFAULTS = { elements: ["gripper"], state: ["position"], action: "position" };
