/** Valid bodies of every operation that has one, by construction from the service document. */
import * as fc from "fast-check";

export type JsonValue = null | boolean | number | string | JsonValue[] | { [name: string]: JsonValue };

export interface Endpoint {
  readonly path: string;
  readonly members: readonly string[];
  readonly body: fc.Arbitrary<Record<string, JsonValue>>;
}

const word = fc.string({ unit: fc.constantFrom(..."abcXYZ019-_. é😀机"), minLength: 1, maxLength: 12 });
const words = fc.array(word, { minLength: 1, maxLength: 4 });
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
const selections = fc.oneof(
  fc.record({ robots: words }),
  fc.record({ selector: fc.record({ site: word, region: fc.option(word), labels }) }),
  fc.record({ robots: words, membership: fc.constant("snapshot") }),
  fc.record({ robots: fc.constant(null), selector: fc.record({ robot_type_id: word }, { requiredKeys: [] }) }),
);

const setup = {
  name: word,
  robot_type_id: word,
  region: word,
  configuration_digest: digest,
  site: fc.option(word),
  labels: fc.option(labels),
  contract: fc.option(fc.dictionary(word, fc.integer(), { maxKeys: 2 })),
};
const fleet = {
  name: word,
  subject: word,
  selection: selections,
  peak_active_robots: laxIntegers,
  readiness_mode: fc.constantFrom("always_ready", "scheduled", "on_demand"),
  operating_windows: windows,
};
const key = { label: word, scopes: fc.option(fc.constant<JsonValue>(["robots:setup"])) };

export const endpoints: readonly Endpoint[] = [
  endpoint("/v1/robots/setup", setup, ["site", "labels", "contract"]),
  endpoint("/v1/fleets", fleet, ["operating_windows"]),
  endpoint("/v1/fleets/fleet_1/model", { subject: word }, []),
  endpoint("/v1/me/deployments", { model: word, robot: word }, []),
  endpoint("/v1/me/api-keys", key, ["scopes"]),
];

function endpoint(
  path: string,
  members: Readonly<Record<string, fc.Arbitrary<JsonValue>>>,
  optional: readonly string[],
): Endpoint {
  const names = Object.keys(members);
  const requiredKeys = names.filter((name) => !optional.includes(name));
  return { path, members: names, body: fc.record(members, { requiredKeys }) };
}
