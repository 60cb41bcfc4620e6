import type { Clock } from "../../platform/clock.ts";
import type { Principal } from "../kernel/auth/authenticate.ts";
import type { Reader } from "../kernel/store/store.ts";
import { liveRobots } from "./robots.ts";

/** Limits on new robots. Existing robots may always register again. */
export interface RobotLimits {
  /** Robots that one key may add; bounds the damage of a stolen key. */
  readonly key: number;
  /** Robots of one organization that were not removed. Lists and selections read all of them. */
  readonly organization: number;
}

export const ROBOT_LIMITS: RobotLimits = { key: 20_000, organization: 1_000_000 };

/** The organization whose robots are counted, and the key that adds them. */
type RobotOwner = Pick<Principal, "organizationId" | "keyId">;

/** Counting a million robots takes as long as hundreds of setups, so a count is used for a second, but for one close below its limit. */
const COUNT_VALID_MS = 1000;
const CLOSE = 1000;
/** Organizations and keys whose counts are cached. */
const COUNTS_KEPT = 10_000;

/** Says whether organizations and keys may add robots. Concurrent setups may exceed a limit by a few. */
export class RobotQuota {
  readonly #reader: Reader;
  readonly #limits: RobotLimits;
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** By id of the organization or key. */
  readonly #counts = new Map<string, { readonly count: number; readonly validUntilMs: number }>();

  constructor(reader: Reader, limits: RobotLimits, clock: Pick<Clock, "monotonicMs">) {
    this.#reader = reader;
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Why this key may add no robot, as a sentence for the client; null if it may. */
  async refusal(owner: RobotOwner): Promise<string | null> {
    return (await this.organizationRefusal(owner)) ?? (await this.#keyRefusal(owner));
  }

  /** As `refusal`, but whatever key adds the robot. */
  async organizationRefusal({ organizationId }: Pick<RobotOwner, "organizationId">): Promise<string | null> {
    const { organization: maximum } = this.#limits;
    const isFull = await this.#isFull(organizationId, maximum, () => countRobots(this.#reader, organizationId));
    return isFull ? `An organization has ${maximum} robots at most` : null;
  }

  async #keyRefusal({ organizationId, keyId }: RobotOwner): Promise<string | null> {
    const { key: maximum } = this.#limits;
    const isFull = await this.#isFull(keyId, maximum, () => countRobotsMadeBy(this.#reader, organizationId, keyId));
    return isFull ? keyHasAdded(maximum) : null;
  }

  async #isFull(id: string, maximum: number, countNow: () => Promise<number>): Promise<boolean> {
    const known = this.#counts.get(id);
    if (known !== undefined && this.#clock.monotonicMs() < known.validUntilMs) return known.count >= maximum;
    const count = await countNow();
    const isClose = count < maximum && count + CLOSE >= maximum;
    if (this.#counts.size >= COUNTS_KEPT) this.#counts.clear();
    if (!isClose) this.#counts.set(id, { count, validUntilMs: this.#clock.monotonicMs() + COUNT_VALID_MS });
    return count >= maximum;
  }
}

function keyHasAdded(maximum: number): string {
  return `The API key has added ${maximum === 1 ? "one robot" : `${maximum} robots`}, as many as it may`;
}

/** Scans all robots of the organization that were not removed, in an index only. */
export async function countRobots(reader: Reader, organizationId: string): Promise<number> {
  const { count } = await liveRobots(reader, organizationId)
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  return count;
}

/** How many robots of the organization were first registered with a key, and not removed. */
async function countRobotsMadeBy(reader: Reader, organizationId: string, keyId: string): Promise<number> {
  const { count } = await liveRobots(reader, organizationId)
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("made_by", "=", keyId)
    .executeTakeFirstOrThrow();
  return count;
}
