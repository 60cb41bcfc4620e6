/**
 * The optional texts of a registration. One row here is the whole declaration of such a member: the request, the views, the history, the agent's
 * configuration, its state file and the console follow from it. What else one needs is in `src/README.md`.
 *
 * This file imports no library, because a robot computer loads it at boot.
 */
interface RobotText {
  /** In code points. */
  readonly length: { readonly minimum: number; readonly maximum: number };
  /** For the description of the API. */
  readonly description: string;
  /** In the schema of the agent's configuration, where it is `robot.<name>`. */
  readonly setting: string;
  /** Its comment and example in a new configuration. */
  readonly comment: string;
  readonly example: string;
}

/** In the order in which they are shown. */
export const ROBOT_TEXTS = {
  site: {
    length: { minimum: 1, maximum: 128 },
    description: "Site name used to select fleet members. Null and absent mean none.",
    setting: "Where the robot stands; fleets are selected by it.",
    comment: "Where the robot stands",
    example: "plant-1",
  },
} as const satisfies Readonly<Record<string, RobotText>>;

export type RobotTextName = keyof typeof ROBOT_TEXTS;

export const ROBOT_TEXT_NAMES = namesOf(ROBOT_TEXTS);

/** An object with a member for each of these names. */
export function eachOf<Name extends string, Value>(
  names: readonly Name[],
  valueOf: (name: Name) => Value,
): Record<Name, Value>;
export function eachOf(names: readonly string[], valueOf: (name: string) => unknown): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, valueOf(name)]));
}

/** The texts that have a value. */
export function givenTexts(
  valueOf: (name: RobotTextName) => string | null | undefined,
): Partial<Record<RobotTextName, string>> {
  return Object.fromEntries(
    ROBOT_TEXT_NAMES.flatMap((name) => {
      const value = valueOf(name) ?? null;
      return value === null ? [] : [[name, value]];
    }),
  );
}

function namesOf<Name extends string>(members: Readonly<Record<Name, unknown>>): readonly Name[];
function namesOf(members: object): readonly string[] {
  return Object.keys(members);
}

/** Clouds name regions like `us-east1`, `westeurope` and `eu/fra`; sites may choose their own names. */
export const REGION_FORM = /^[A-Za-z0-9][A-Za-z0-9._/-]*$/;
export const REGION_EXPECTED = "the code of a region, such as eu-central-1: letters, digits, - _ . and /";

/** The digest of no files: computers send it that have not read theirs, as existing clients always do. */
export const DIGEST_OF_NOTHING = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
