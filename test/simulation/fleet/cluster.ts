import type { HttpAnswer, HttpRequest } from "../../../src/client/transport.ts";
import type { Dice } from "../dice.ts";
import type { Scheduler } from "../scheduler.ts";
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
  /** Replicas that no request reaches now. */
  readonly unreachable: Set<Replica>;
  /** Replicas that requests reach, and whose answers are lost. */
  readonly halfOpen: Set<Replica>;
  serve(organization: string, address: string, request: HttpRequest): Promise<HttpAnswer | null>;
}

export interface ClusterOptions {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly replicas: readonly Replica[];
  /** An answer leaves a replica, whoever hears of it. */
  onAnswer(asked: Asked, answer: HttpAnswer): void;
}

export function createCluster({ scheduler, dice, replicas, onAnswer }: ClusterOptions): Cluster {
  const unreachable = new Set<Replica>();
  const halfOpen = new Set<Replica>();
  return {
    unreachable,
    halfOpen,
    async serve(organization, address, request) {
      const replica = dice.pick(replicas);
      if (unreachable.has(replica) || !replica.isServing) return null;
      const asked = { organization, request, arrived_ms: scheduler.now_ms, replica: replica.name };
      const answer = await replica.handle(request, address);
      if (answer !== null) onAnswer(asked, answer);
      return unreachable.has(replica) || halfOpen.has(replica) ? null : answer;
    },
  };
}
