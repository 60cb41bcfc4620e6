/** Items that wait, taken round-robin over requesters, so that one with many items does not delay the others. */
export class FairLines<T> {
  /** Items by requester; the requester that waits longest comes first. */
  readonly #lines = new Map<string, T[]>();
  #size = 0;

  /** Number of items of all requesters. */
  get size(): number {
    return this.#size;
  }

  sizeOf(requester: string): number {
    return this.#lines.get(requester)?.length ?? 0;
  }

  add(requester: string, item: T): void {
    const line = this.#lines.get(requester);
    if (line === undefined) this.#lines.set(requester, [item]);
    else line.push(item);
    this.#size += 1;
  }

  /** Takes the next item of a requester that `mayHave` one; undefined when there is none. */
  take(mayHave: (requester: string) => boolean = () => true): { requester: string; item: T } | undefined {
    for (const [requester, line] of this.#lines) {
      if (!mayHave(requester)) continue;
      const [item] = line.splice(0, 1);
      this.#lines.delete(requester);
      if (line.length > 0) this.#lines.set(requester, line);
      if (item === undefined) continue;
      this.#size -= 1;
      return { requester, item };
    }
    return undefined;
  }
}
