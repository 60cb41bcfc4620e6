/**
 * Valid bodies by construction, and single mistakes to plant in them, each with the finding it must cause. Written from the service
 * document and pydantic's documentation of its error types, without looking at the validation, so that both do not share a mistake.
 */
import * as fc from "fast-check";

export type JsonValue = null | boolean | number | string | JsonValue[] | { [name: string]: JsonValue };
export type JsonBody = Record<string, JsonValue>;

/** The finding of a mistake, without its location and input. */
export interface Complaint {
  readonly type: string;
  readonly msg: string;
  readonly ctx?: unknown;
}

export interface Mistake {
  /** Path from the body. */
  readonly path: readonly (string | number)[];
  /** The value that is sent there; undefined omits the member. */
  readonly sent: JsonValue | undefined;
  readonly complaint: Complaint;
}

export interface Endpoint {
  readonly path: string;
  /** Members in the order of the contract. */
  readonly members: readonly string[];
  readonly body: fc.Arbitrary<JsonBody>;
  mistakes(body: JsonBody): fc.Arbitrary<Mistake>;
}

const word = fc.string({ unit: fc.constantFrom(..."abcXYZ019-_. é😀机"), minLength: 1, maxLength: 12 });
const digest = fc
  .array(fc.constantFrom(..."0123456789abcdef"), { minLength: 64, maxLength: 64 })
  .map((digits) => `sha256:${digits.join("")}`);
const labels = fc.dictionary(word, word, { maxKeys: 4 });
const windows = fc.array(
  fc
    .tuple(fc.integer({ min: 0, max: 9 }), fc.constantFrom("Z", "z", "+05:30", "-0800", "\u221201:00"))
    .map(([day, zone]): JsonValue => ({
      starts_at: `209${day}-01-01T08:00:00${zone}`,
      ends_at: `209${day}-01-01 18:30:15.25${zone}`,
    })),
  { maxLength: 3 },
);
const laxIntegers = fc.oneof(
  fc.integer({ min: 1, max: 1000 }),
  fc.integer({ min: 1, max: 1000 }).map(String),
  fc.constantFrom<JsonValue>(true, 7.0, "+5", " 12 ", "007", "1_000", "5.0", "\t3\n"),
);

const MODES = ["always_ready", "scheduled", "on_demand"] as const;

/** Values of other types, wrong in every place. */
const numbers = fc.oneof(
  fc.integer(),
  // Without -0, which JSON.stringify writes as 0.
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
  fc.boolean(),
);
const lists = fc.array(fc.oneof(numbers, word), { maxLength: 2 });
const objects = fc.dictionary(word, numbers, { maxKeys: 2 });

const NOT_A_STRING: Complaint = { type: "string_type", msg: "Input should be a valid string" };
const NOT_A_DICTIONARY: Complaint = { type: "dict_type", msg: "Input should be a valid dictionary" };
const NOT_AN_OBJECT: Complaint = {
  type: "model_attributes_type",
  msg: "Input should be a valid dictionary or object to extract fields from",
};
const NOT_A_LIST: Complaint = { type: "list_type", msg: "Input should be a valid list" };
const MISSING: Complaint = { type: "missing", msg: "Field required" };
const UNKNOWN: Complaint = { type: "extra_forbidden", msg: "Extra inputs are not permitted" };
const NOT_AN_INTEGER: Complaint = { type: "int_type", msg: "Input should be a valid integer" };
const UNPARSABLE_INTEGER: Complaint = {
  type: "int_parsing",
  msg: "Input should be a valid integer, unable to parse string as an integer",
};
const FRACTION: Complaint = {
  type: "int_from_float",
  msg: "Input should be a valid integer, got a number with a fractional part",
};
const NOT_A_DATE_TIME: Complaint = { type: "datetime_type", msg: "Input should be a valid datetime" };
const NO_TIME_ZONE: Complaint = { type: "timezone_aware", msg: "Input should have timezone info" };

type Path = Mistake["path"];

function wrong(path: Path, sent: fc.Arbitrary<JsonValue>, complaint: Complaint): fc.Arbitrary<Mistake> {
  return sent.map((value) => ({ path, sent: value, complaint }));
}

function missing(path: Path): fc.Arbitrary<Mistake> {
  return fc.constant({ path, sent: undefined, complaint: MISSING });
}

function unknown(path: Path): fc.Arbitrary<Mistake> {
  return fc
    .tuple(fc.constantFrom("zz", "__proto__", "constructor", "Name", "10", ""), fc.oneof(numbers, word, lists, objects))
    .map(([name, sent]) => ({ path: [...path, name], sent, complaint: UNKNOWN }));
}

interface Bounds {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly isNullable?: boolean;
}

function wrongText(path: Path, { minimum = 0, maximum, isNullable = false }: Bounds): fc.Arbitrary<Mistake> {
  const others = fc.oneof(numbers, lists, objects, ...(isNullable ? [] : [fc.constant(null)]));
  const choices = [wrong(path, others, NOT_A_STRING)];
  if (minimum > 0) {
    const msg = `String should have at least ${minimum} character${minimum === 1 ? "" : "s"}`;
    choices.push(wrong(path, fc.constant(""), { type: "string_too_short", msg, ctx: { min_length: minimum } }));
  }
  if (maximum !== undefined) {
    const msg = `String should have at most ${maximum} characters`;
    const long = fc.constantFrom("x", "é", "😀", "\u0301").map((character) => character.repeat(maximum + 1));
    choices.push(wrong(path, long, { type: "string_too_long", msg, ctx: { max_length: maximum } }));
  }
  choices.push(
    wrong(path, fc.constantFrom("\0", "a\0b"), {
      type: "value_error",
      msg: "Value error, text must not contain NUL characters",
      ctx: { error: {} },
    }),
  );
  return fc.oneof(...choices);
}

/** Too long by one item. */
function tooLong(maximum: number): Complaint {
  return {
    type: "too_long",
    msg: `List should have at most ${maximum} items after validation, not ${maximum + 1}`,
    ctx: { field_type: "List", max_length: maximum, actual_length: maximum + 1 },
  };
}

function wrongChoice(path: Path, type: string, expected: string): fc.Arbitrary<Mistake> {
  const others = fc.oneof(
    numbers,
    lists,
    objects,
    fc.constantFrom<JsonValue>(null, "", "Snapshot", "on_demand ", "nothing"),
  );
  return wrong(path, others, { type, msg: `Input should be ${expected}`, ctx: { expected } });
}

function wrongLabels(path: Path, isNullable: boolean): fc.Arbitrary<Mistake> {
  const others = fc.oneof(numbers, word, lists, ...(isNullable ? [] : [fc.constant(null)]));
  return fc.oneof(
    wrong(path, others, NOT_A_DICTIONARY),
    wrong([...path, "planted"], fc.oneof(numbers, lists, objects, fc.constant(null)), NOT_A_STRING),
  );
}

function wrongDateTime(path: Path): fc.Arbitrary<Mistake> {
  const dateFault = (error: string): Complaint => ({
    type: "datetime_from_date_parsing",
    msg: `Input should be a valid datetime or date, ${error}`,
    ctx: { error },
  });
  return fc.oneof(
    wrong(path, fc.oneof(lists, objects, fc.constantFrom<JsonValue>(null, true)), NOT_A_DATE_TIME),
    wrong(path, fc.constantFrom("2098-01-01T08:00:00", "2098-01-01", "2098-01-01 08:00:00.5"), NO_TIME_ZONE),
    wrong(path, fc.constantFrom("", "soon", "2098-1-1"), dateFault("input is too short")),
    wrong(path, fc.constant("2098-13-01T00:00:00Z"), dateFault("month value is outside expected range of 1-12")),
    wrong(path, fc.constant("2099-02-29T00:00:00Z"), dateFault("day value is outside expected range")),
    wrong(
      path,
      fc.constantFrom("2098-01-01T24:00:00Z", "2098-01-01T23:59:60Z", "2098-01-01T00:00:00+24:00"),
      dateFault("unexpected extra characters at the end of the input"),
    ),
  );
}

const setup: Endpoint = {
  path: "/v1/robots/setup",
  members: ["name", "robot_type_id", "region", "configuration_digest", "site", "labels", "contract"],
  body: fc.record(
    {
      name: word,
      robot_type_id: word,
      region: word,
      configuration_digest: digest,
      site: fc.option(word),
      labels: fc.option(labels),
      contract: fc.option(objects),
    },
    { requiredKeys: ["name", "robot_type_id", "region", "configuration_digest"] },
  ),
  mistakes: (body) =>
    fc.oneof(
      missing(["name"]),
      missing(["robot_type_id"]),
      missing(["region"]),
      missing(["configuration_digest"]),
      wrongText(["name"], { minimum: 1, maximum: 64 }),
      wrongText(["robot_type_id"], { minimum: 1, maximum: 256 }),
      wrongText(["region"], { maximum: 256 }),
      wrongText(["site"], { minimum: 1, maximum: 128, isNullable: true }),
      wrong(
        ["configuration_digest"],
        fc.constantFrom("", `sha256:${"A".repeat(64)}`, `sha256:${"a".repeat(63)}`, `sha256:${"a".repeat(64)}\n`),
        {
          type: "string_pattern_mismatch",
          msg: "String should match pattern '^sha256:[0-9a-f]{64}$'",
          ctx: { pattern: "^sha256:[0-9a-f]{64}$" },
        },
      ),
      body["labels"] === undefined || body["labels"] === null
        ? wrong(["labels"], fc.oneof(numbers, word, lists), NOT_A_DICTIONARY)
        : wrongLabels(["labels"], true),
      wrong(["contract"], fc.oneof(numbers, word, lists), NOT_A_DICTIONARY),
    ),
};

const selections = fc.oneof(
  fc.record({ robots: fc.array(word, { minLength: 1, maxLength: 4 }) }),
  fc.record({ selector: fc.record({ site: word, region: fc.option(word), labels }) }),
  fc.record({ robots: fc.array(word, { minLength: 1, maxLength: 4 }), membership: fc.constant("snapshot") }),
  fc.record({ robots: fc.constant(null), selector: fc.record({ robot_type_id: word }, { requiredKeys: [] }) }),
);

const fleet: Endpoint = {
  path: "/v1/fleets",
  members: ["name", "subject", "selection", "peak_active_robots", "readiness_mode", "operating_windows"],
  body: fc.record(
    {
      name: word,
      subject: word,
      selection: selections,
      peak_active_robots: laxIntegers,
      readiness_mode: fc.constantFrom(...MODES),
      operating_windows: windows,
    },
    { requiredKeys: ["name", "subject", "selection", "peak_active_robots", "readiness_mode"] },
  ),
  mistakes: (body) =>
    fc.oneof(
      unknown([]),
      missing(["name"]),
      missing(["subject"]),
      missing(["selection"]),
      missing(["peak_active_robots"]),
      missing(["readiness_mode"]),
      wrongText(["name"], { minimum: 1, maximum: 128 }),
      wrongText(["subject"], { minimum: 1 }),
      wrongSelection(body["selection"]),
      wrong(["peak_active_robots"], fc.oneof(lists, objects, fc.constant(null)), NOT_AN_INTEGER),
      wrong(["peak_active_robots"], fc.constantFrom("", "x", "0x10", "1e3", "1__0", "５", "5."), UNPARSABLE_INTEGER),
      wrong(["peak_active_robots"], fc.constantFrom(1.5, 0.1, -2.25), FRACTION),
      wrong(["peak_active_robots"], fc.constantFrom<JsonValue>(0, -1, "0", "-7", false), {
        type: "greater_than_equal",
        msg: "Input should be greater than or equal to 1",
        ctx: { ge: 1 },
      }),
      wrongChoice(["readiness_mode"], "enum", "'always_ready', 'scheduled' or 'on_demand'"),
      wrong(["operating_windows"], fc.oneof(numbers, word, objects, fc.constant(null)), NOT_A_LIST),
      wrong(["operating_windows"], fc.constant(Array.from({ length: 367 }, () => null)), tooLong(366)),
      ...(Array.isArray(body["operating_windows"]) && body["operating_windows"].length > 0 ? [wrongWindow()] : []),
    ),
};

function wrongSelection(selection: JsonValue | undefined): fc.Arbitrary<Mistake> {
  const usesRobots = JSON.stringify(selection).startsWith('{"robots":[');
  const both: JsonValue = { robots: ["a"], selector: { site: "s" } };
  return fc.oneof(
    unknown(["selection"]),
    wrongChoice(["selection", "membership"], "literal_error", "'snapshot'"),
    wrong(["selection"], fc.oneof(numbers, word, lists, fc.constant(null)), NOT_AN_OBJECT),
    wrong(["selection"], fc.constantFrom<JsonValue>({}, both, { robots: null }), {
      type: "value_error",
      msg: "Value error, exactly one of robots and selector is required",
      ctx: { error: {} },
    }),
    ...(usesRobots
      ? [
          wrongText(["selection", "robots", 0], {}),
          wrong(["selection", "robots"], fc.oneof(numbers, word, objects), NOT_A_LIST),
          wrong(["selection", "robots"], fc.constant(Array.from({ length: 1001 }, String)), tooLong(1000)),
          wrong(["selection", "robots"], fc.constant<JsonValue>([]), {
            type: "too_short",
            msg: "List should have at least 1 item after validation, not 0",
            ctx: { field_type: "List", min_length: 1, actual_length: 0 },
          }),
        ]
      : [
          unknown(["selection", "selector"]),
          wrongText(["selection", "selector", "site"], { minimum: 1, maximum: 128, isNullable: true }),
          wrongText(["selection", "selector", "robot_type_id"], { minimum: 1, maximum: 256, isNullable: true }),
          wrong(
            ["selection", "selector", "labels"],
            fc.oneof(numbers, word, lists, fc.constant(null)),
            NOT_A_DICTIONARY,
          ),
          wrong(["selection", "selector"], fc.oneof(numbers, word, lists), NOT_AN_OBJECT),
        ]),
  );
}

function wrongWindow(): fc.Arbitrary<Mistake> {
  const path = ["operating_windows", 0];
  return fc.oneof(
    unknown(path),
    missing([...path, "starts_at"]),
    missing([...path, "ends_at"]),
    wrongDateTime([...path, "starts_at"]),
    wrongDateTime([...path, "ends_at"]),
    wrong(path, fc.oneof(numbers, word, lists, fc.constant(null)), NOT_AN_OBJECT),
  );
}

const model: Endpoint = {
  path: "/v1/fleets/fleet_1/model",
  members: ["subject"],
  body: fc.record({ subject: word }),
  mistakes: () => fc.oneof(missing(["subject"]), wrongText(["subject"], { minimum: 1 })),
};

const deployment: Endpoint = {
  path: "/v1/me/deployments",
  members: ["model", "robot"],
  body: fc.record({ model: word, robot: word }),
  mistakes: () =>
    fc.oneof(
      missing(["model"]),
      missing(["robot"]),
      wrongText(["model"], { maximum: 256 }),
      wrongText(["robot"], { maximum: 256 }),
    ),
};

const apiKey: Endpoint = {
  path: "/v1/me/api-keys",
  members: ["label", "scopes"],
  body: fc.record(
    { label: word, scopes: fc.option(fc.constant<JsonValue>(["robots:setup"])) },
    { requiredKeys: ["label"] },
  ),
  mistakes: () =>
    fc.oneof(
      missing(["label"]),
      wrongText(["label"], { maximum: 256 }),
      wrong(["scopes"], fc.oneof(numbers, word, objects), NOT_A_LIST),
    ),
};

export const endpoints: readonly Endpoint[] = [setup, fleet, model, deployment, apiKey];

/** The body with the mistake. Only members of objects can be omitted. */
export function plant(body: JsonValue, [step, ...rest]: Path, sent: JsonValue | undefined): JsonValue | undefined {
  if (step === undefined) return sent;
  if (Array.isArray(body))
    return body.map((item, index) => (index === step ? (plant(item, rest, sent) ?? null) : item));
  // Object.fromEntries, because assigning to `__proto__` does not create a member.
  const members = Object.entries(body !== null && typeof body === "object" ? body : {});
  const others = members.filter(([name]) => name !== step);
  const planted = plant(members.find(([name]) => name === step)?.[1] ?? null, rest, sent);
  return Object.fromEntries(planted === undefined ? others : [...others, [String(step), planted]]);
}

/** The value at a path. */
export function at(value: unknown, [step, ...rest]: Path): unknown {
  if (step === undefined) return value;
  if (value === null || typeof value !== "object") return undefined;
  return at(Object.entries(value).find(([name]) => name === String(step))?.[1], rest);
}
