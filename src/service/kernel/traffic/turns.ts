/** How much may wait and be under way: of one asker, and of all together. */
export interface TurnLimits {
  /** Waiting. */
  readonly own: number;
  readonly all: number;
  /** Under way at once; one, where it is not said. */
  readonly ownAtOnce?: number;
  readonly allAtOnce?: number;
}

/** Work of requests, no more at once than is allowed. */
export interface Turns {
  /** Does `work` when its turn has come. Returns null, and does nothing, where too much waits already. */
  take<T>(whose: string, work: () => Promise<T>): Promise<T | null>;
}

/** Askers take turns, however much one of them asks for. */
export function createTurns({ own, all, ownAtOnce = 1, allAtOnce = 1 }: TurnLimits): Turns {
  /** Who was waiting longest comes first. */
  const lines = new Map<string, (() => void)[]>();
  /** How much of each asker is under way. */
  const underWay = new Map<string, number>();
  let waiting = 0;
  let underWayCount = 0;

  function hasRoom(whose: string): boolean {
    return underWayCount < allAtOnce && (underWay.get(whose) ?? 0) < ownAtOnce;
  }

  function wait(whose: string): Promise<void> | null {
    const line = lines.get(whose) ?? [];
    if (line.length >= own || waiting >= all) return null;
    waiting += 1;
    lines.set(whose, line);
    return new Promise((resolve) => {
      line.push(resolve);
    });
  }

  function begin(whose: string): void {
    underWayCount += 1;
    underWay.set(whose, (underWay.get(whose) ?? 0) + 1);
  }

  function end(whose: string): void {
    underWayCount -= 1;
    const left = (underWay.get(whose) ?? 0) - 1;
    if (left > 0) underWay.set(whose, left);
    else underWay.delete(whose);
    callNext();
  }

  function callNext(): void {
    for (const [whose, line] of lines) {
      if (!hasRoom(whose)) continue;
      lines.delete(whose);
      const first = line.shift();
      if (line.length > 0) lines.set(whose, line);
      if (first === undefined) continue;
      waiting -= 1;
      begin(whose);
      first();
      return;
    }
  }

  return {
    async take(whose, work) {
      if (hasRoom(whose)) {
        begin(whose);
      } else {
        const turn = wait(whose);
        if (turn === null) return null;
        await turn;
      }
      try {
        return await work();
      } finally {
        end(whose);
      }
    },
  };
}
