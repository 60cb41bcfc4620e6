/** The models of every run of the suite. An endpoint that one test switches is used by no other test. */
import type { InferenceServer } from "./inference.ts";

export const REGION = "us-west-2";
export const OTHER_REGION = "eu-central-1";
export const ROBOT_TYPE = "so101_follower";

/** Always healthy, in both regions, for any robot. */
export const STEADY = { slug: "pi0.5", newest: "ckpt_pi05_second", oldest: "ckpt_pi05_first" } as const;
/** In one region, for one robot type. */
export const PICKY = { slug: "picky-vla", checkpoint: "ckpt_picky" } as const;
/** Its endpoint fails until a test heals it. */
export const COLD = { slug: "cold-vla", checkpoint: "ckpt_cold", endpoint: "cold" } as const;
/** Never healthy. */
export const DEAD = { slug: "dead-vla", checkpoint: "ckpt_dead", endpoint: "dead" } as const;
/** One endpoint per region, for the test of the life of a fleet. */
export const WALKED = { slug: "walked-vla", first: "ckpt_walked_1", second: "ckpt_walked_2" } as const;
/** For the test of deployments that fail and recover. */
export const SHAKY = { slug: "shaky-vla", checkpoint: "ckpt_shaky", endpoint: "shaky" } as const;
/** For the conformance suite only, each for one test. */
export const IDLE = { slug: "idle-vla", checkpoint: "ckpt_idle", endpoint: "idle" } as const;
export const WARMING = { slug: "warming-vla", checkpoint: "ckpt_warming", endpoint: "warming" } as const;

export const FAILING_AT_FIRST = [COLD.endpoint, DEAD.endpoint, WARMING.endpoint];

interface SmallModel {
  readonly slug: string;
  readonly checkpoint: string;
  readonly endpoint: string;
}

interface CheckpointOptions {
  readonly created_at?: string;
  readonly endpoints: Readonly<Record<string, string>>;
  readonly requirements?: Readonly<Record<string, unknown>>;
}

/** The catalog file, in JSON, which is valid YAML. @param more further models, each with one endpoint. */
export function catalogText({ url, healthUrl }: InferenceServer, more: readonly SmallModel[] = []): string {
  const checkpoint = (id: string, { created_at: createdAt, endpoints, requirements }: CheckpointOptions) => ({
    id,
    created_at: createdAt ?? "2026-01-01T00:00:00Z",
    ...(requirements === undefined ? {} : { requirements }),
    endpoints: Object.entries(endpoints).map(([region, name]) => ({
      region,
      url: `${url}/${name}`,
      health_url: healthUrl(name),
    })),
  });
  const both = { [REGION]: "steady", [OTHER_REGION]: "steady-eu" };
  return JSON.stringify({
    models: [
      {
        slug: STEADY.slug,
        display_name: "π0.5",
        vendor: "Physical Intelligence",
        model_type: "vla",
        license_tier: "open",
        checkpoints: [
          checkpoint(STEADY.oldest, { created_at: "2025-06-01T00:00:00Z", endpoints: both }),
          checkpoint(STEADY.newest, { created_at: "2026-02-01T00:00:00Z", endpoints: both }),
        ],
      },
      {
        slug: PICKY.slug,
        checkpoints: [
          checkpoint(PICKY.checkpoint, {
            endpoints: { [REGION]: "steady" },
            requirements: { robot_types: [ROBOT_TYPE] },
          }),
        ],
      },
      { slug: COLD.slug, checkpoints: [checkpoint(COLD.checkpoint, { endpoints: { [REGION]: COLD.endpoint } })] },
      { slug: DEAD.slug, checkpoints: [checkpoint(DEAD.checkpoint, { endpoints: { [REGION]: DEAD.endpoint } })] },
      {
        slug: WALKED.slug,
        default_checkpoint: WALKED.first,
        checkpoints: [
          checkpoint(WALKED.first, { endpoints: { [REGION]: "walked-1", [OTHER_REGION]: "walked-1-eu" } }),
          checkpoint(WALKED.second, {
            endpoints: { [REGION]: "walked-2", [OTHER_REGION]: "walked-2-eu" },
            requirements: { robot_types: [ROBOT_TYPE] },
          }),
        ],
      },
      ...[SHAKY, ...more].map((model) => ({
        slug: model.slug,
        checkpoints: [checkpoint(model.checkpoint, { endpoints: { [REGION]: model.endpoint } })],
      })),
    ],
  });
}
