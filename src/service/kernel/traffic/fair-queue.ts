/** How many jobs may wait and run: of one requester, and of all together. */
export interface FairQueueLimits {
  /** Waiting jobs of one requester. */
  readonly own: number;
  /** Waiting jobs of all requesters. */
  readonly all: number;
  /** Running jobs of one requester; 1 by default. */
  readonly ownAtOnce?: number;
  /** Running jobs of all requesters; 1 by default. */
  readonly allAtOnce?: number;
}

export interface FairQueue {
  /** Runs `job` when it is its turn. Returns null without running it when too many jobs wait already. */
  run<T>(requester: string, job: () => Promise<T>): Promise<T | null>;
}

/** Runs jobs round-robin over their requesters, so that one with many jobs does not delay the others. */
export function createFairQueue({ own, all, ownAtOnce = 1, allAtOnce = 1 }: FairQueueLimits): FairQueue {
  /** Jobs that wait, by requester; the requester that waits longest comes first. */
  const waiting = new Map<string, (() => void)[]>();
  let waitingCount = 0;
  /** Number of running jobs by requester. */
  const running = new Map<string, number>();
  let runningCount = 0;

  function hasRoom(requester: string): boolean {
    return runningCount < allAtOnce && (running.get(requester) ?? 0) < ownAtOnce;
  }

  function wait(requester: string): Promise<void> | null {
    const line = waiting.get(requester) ?? [];
    if (line.length >= own || waitingCount >= all) return null;
    waiting.set(requester, line);
    waitingCount += 1;
    return new Promise((resolve) => {
      line.push(resolve);
    });
  }

  function begin(requester: string): void {
    runningCount += 1;
    running.set(requester, (running.get(requester) ?? 0) + 1);
  }

  function end(requester: string): void {
    runningCount -= 1;
    const left = (running.get(requester) ?? 0) - 1;
    if (left > 0) running.set(requester, left);
    else running.delete(requester);
    if (waitingCount > 0) startNext();
  }

  function startNext(): void {
    for (const [requester, line] of waiting) {
      if (!hasRoom(requester)) continue;
      const start = line.shift();
      waiting.delete(requester);
      if (line.length > 0) waiting.set(requester, line);
      waitingCount -= 1;
      begin(requester);
      start?.();
      return;
    }
  }

  return {
    async run(requester, job) {
      if (hasRoom(requester)) {
        begin(requester);
      } else {
        const turn = wait(requester);
        if (turn === null) return null;
        await turn;
      }
      try {
        return await job();
      } finally {
        end(requester);
      }
    },
  };
}
