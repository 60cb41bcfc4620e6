/** How much may wait: of one asker, and of all together. */
export interface TurnLimits {
  readonly own: number;
  readonly all: number;
}

/** Long work of requests, one piece after the other, so that all of it together takes no more of the process than one piece. */
export interface Turns {
  /** Does `work` when its turn has come. Returns null, and does nothing, where too much waits already. */
  take<T>(whose: string, work: () => Promise<T>): Promise<T | null>;
}

/** Askers take turns, however much one of them asks for. */
export function createTurns({ own, all }: TurnLimits): Turns {
  /** Who was waiting longest comes first. */
  const lines = new Map<string, (() => void)[]>();
  let waiting = 0;
  let is_busy = false;

  function wait(whose: string): Promise<void> | null {
    const line = lines.get(whose) ?? [];
    if (line.length >= own || waiting >= all) return null;
    waiting += 1;
    lines.set(whose, line);
    return new Promise((resolve) => {
      line.push(resolve);
    });
  }

  function callNext(): void {
    for (const [whose, line] of lines) {
      lines.delete(whose);
      const [first, ...others] = line;
      if (others.length > 0) lines.set(whose, others);
      if (first === undefined) continue;
      waiting -= 1;
      first();
      return;
    }
    is_busy = false;
  }

  return {
    async take(whose, work) {
      if (is_busy) {
        const turn = wait(whose);
        if (turn === null) return null;
        await turn;
      }
      is_busy = true;
      try {
        return await work();
      } finally {
        callNext();
      }
    },
  };
}
