import type { HttpAnswer, HttpRequest } from "../../../../src/client/transport/transport.ts";
import type { Dice } from "../../dice.ts";
import type { Scheduler } from "../../scheduler.ts";
import type { Replica } from "./replica.ts";

/** A request to the service, and its sender. */
export interface ReceivedRequest {
  /** Mark of the organization. */
  readonly organization: string;
  readonly request: HttpRequest;
  /** When a replica received it. */
  readonly arrived_ms: number;
  readonly replica: string;
}

/** The replicas as clients see them: one address that forwards a request to any replica. */
export interface Cluster {
  /** Replicas that refuse connections. */
  readonly unreachable: Set<Replica>;
  /** Replicas that receive requests but whose answers are lost. */
  readonly halfOpen: Set<Replica>;
  /** A network partition: clients and replicas on one side, which cannot reach the others; null without one. */
  island: ReadonlySet<string> | null;
  /** Maximum transit time of a request and of an answer, so that they can overtake each other. */
  detourMs: number;
  /** Requests that reached a replica. */
  readonly requests: number;
  serve(organization: string, address: string, request: HttpRequest): Promise<HttpAnswer | null>;
}

export interface ClusterOptions {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly replicas: readonly Replica[];
  /** Called when an answer leaves a replica, whether or not it arrives. */
  onAnswer(received: ReceivedRequest, answer: HttpAnswer): void;
}

/** Longer than any client's timeout. */
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
      if (isCutOff(address, replica)) return after(SILENCE_MS, "no answer");
      if (unreachable.has(replica) || !replica.isServing) return null;
      requests += 1;
      const received = { organization, request, arrived_ms: scheduler.nowMs, replica: replica.name };
      const answer = await replica.handle(request, address);
      if (answer !== null) onAnswer(received, answer);
      await travel();
      if (isCutOff(address, replica) || halfOpen.has(replica)) return after(SILENCE_MS, "the answer is lost");
      return unreachable.has(replica) ? null : answer;
    },
  };
  return cluster;
}
