/** Demonstration models and their inference servers: some answer, some fail, and one can be made to fail. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface InferenceServers extends AsyncDisposable {
  /** Path of the catalog file. */
  readonly catalog: string;
  /** Makes the servers at /wearing fail. */
  wearOut(): void;
  /** Makes the servers at /late answer. */
  finish(): void;
  /** Makes the servers at /late fail again. */
  startOver(): void;
}

export async function startInferenceServers(): Promise<InferenceServers> {
  let isWorn = false;
  let isFinished = false;
  const server = createServer(({ url = "" }, response) => {
    const isFailing = url.startsWith("/failing") || (url.startsWith("/wearing") && isWorn);
    const isLate = url.startsWith("/late") && !isFinished;
    response.writeHead(isFailing || isLate ? 503 : 200).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    catalog: catalogText(`http://127.0.0.1:${port}`),
    wearOut: () => (isWorn = true),
    finish: () => (isFinished = true),
    startOver: () => (isFinished = false),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function catalogText(base: string): string {
  return `models:
  - slug: pi0.5
    display_name: π0.5
    vendor: Physical Intelligence
    model_type: vision-language-action
    license_tier: open
    default_checkpoint: ckpt_pi05_base
    checkpoints:
      - id: ckpt_pi05_base
        created_at: 2026-03-08
        requirements: { state_axes: { maximum_count: 32 }, action_axes: { maximum_count: 32 } }
        endpoints:
          - { region: eu-central-1, url: "${base}/good/pi05-eu" }
          - { region: us-west-2, url: "${base}/good/pi05-us" }
          - { region: ap-northeast-1, url: "${base}/wearing/pi05-ap" }
      - id: ckpt_pi05_droid
        created_at: 2026-05-19
        requirements:
          robot_types: [droid.franka-panda.v1]
          camera_roles: [exterior, wrist]
          state_axes: { count: 8 }
          action_axes: { count: 8, units: [rad/s, "1"] }
        endpoints:
          - { region: eu-central-1, url: "${base}/good/droid-eu" }
          - { region: us-west-2, url: "${base}/late/droid-us" }
  - slug: smolvla
    display_name: SmolVLA
    vendor: Hugging Face
    model_type: vision-language-action
    license_tier: open
    checkpoints:
      - id: ckpt_smolvla_so101
        created_at: 2026-06-11
        requirements:
          robot_types: [lerobot.so101-follower.v1]
          camera_roles: [front, wrist]
          action_axes: { count: 6 }
        endpoints:
          - { region: eu-central-1, url: "${base}/good/smolvla-eu" }
          - { region: us-west-2, url: "${base}/good/smolvla-us" }
  - slug: act-aloha
    display_name: ACT, packing
    vendor: our lab
    model_type: imitation
    license_tier: internal
    checkpoints:
      - id: ckpt_act_packing_1
        created_at: 2026-01-12
        requirements: { robot_types: [trossen.aloha-bimanual.v1], state_axes: { count: 14 }, action_axes: { count: 14 } }
        endpoints:
          - { region: eu-central-1, url: "${base}/wearing/act-eu" }
          - { region: us-west-2, url: "${base}/good/act-us" }
      - id: ckpt_act_packing_2
        created_at: 2026-07-02
        requirements: { robot_types: [trossen.aloha-bimanual.v1], action_axes: { count: 14 } }
        endpoints: []
  - slug: diffusion-pick
    display_name: Diffusion policy, bin picking
    vendor: our lab
    model_type: imitation
    license_tier: internal
    checkpoints:
      - id: ckpt_diffusion_pick_3
        created_at: 2026-08-20
        requirements: { action_axes: { maximum_count: 32 } }
        endpoints:
          - { region: eu-central-1, url: "${base}/failing/pick-eu" }
          - { region: us-west-2, url: "${base}/late/pick-us" }
`;
}
