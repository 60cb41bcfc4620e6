import type { HttpAnswer, HttpRequest } from "../../../../src/client/transport/transport.ts";
import type { Dice } from "../../dice.ts";
import type { Scheduler } from "../../scheduler.ts";
import type { Replica } from "./replica.ts";

/** A request on its way to the service, and whose it is. */
export interface Asked {
  /** Mark of the organization. */
  readonly organization: string;
  readonly request: HttpRequest;
  /** When a replica took it. */
  readonly arrived_ms: number;
  readonly replica: string;
}

/** The replicas as their clients see them: one address, behind which a request comes to any of them. */
export interface Cluster {
  /** Replicas that refuse connections now. */
  readonly unreachable: Set<Replica>;
  /** Replicas that requests reach, and whose answers are lost without a word. */
  readonly halfOpen: Set<Replica>;
  /** Addresses of clients, and names of replicas, that nothing comes to from the others, and that nothing comes from; null without. */
  island: ReadonlySet<string> | null;
  /** The longest way round that a request, and an answer, may take: so one overtakes the other. */
  detourMs: number;
  /** Requests that reached a replica. */
  readonly requests: number;
  serve(organization: string, address: string, request: HttpRequest): Promise<HttpAnswer | null>;
}

export interface ClusterOptions {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly replicas: readonly Replica[];
  /** An answer leaves a replica, whoever hears of it. */
  onAnswer(asked: Asked, answer: HttpAnswer): void;
}

/** Longer than any client waits. */
const SILENCE_MS = 60_000;

export function createCluster({ scheduler, dice, replicas, onAnswer }: ClusterOptions): Cluster {
  const unreachable = new Set<Replica>();
  const halfOpen = new Set<Replica>();
  let requests = 0;

  function after(delayMs: number, label: string): Promise<null> {
    return new Promise((resolve) => {
      scheduler.after(delayMs, null, label, () => resolve(null));
    });
  }

  async function travel(): Promise<void> {
    if (cluster.detourMs > 0) await after(dice.between(0, cluster.detourMs), "detour");
  }

  function isCutOff(address: string, { name }: Replica): boolean {
    const { island } = cluster;
    return island !== null && island.has(address) !== island.has(name);
  }

  const cluster: Cluster = {
    unreachable,
    halfOpen,
    island: null,
    detourMs: 0,
    get requests() {
      return requests;
    },
    async serve(organization, address, request) {
      const replica = dice.pick(replicas);
      await travel();
      if (isCutOff(address, replica)) return after(SILENCE_MS, "nobody answers");
      if (unreachable.has(replica) || !replica.isServing) return null;
      requests += 1;
      const asked = { organization, request, arrived_ms: scheduler.nowMs, replica: replica.name };
      const answer = await replica.handle(request, address);
      if (answer !== null) onAnswer(asked, answer);
      await travel();
      if (isCutOff(address, replica) || halfOpen.has(replica)) return after(SILENCE_MS, "the answer is lost");
      return unreachable.has(replica) ? null : answer;
    },
  };
  return cluster;
}
