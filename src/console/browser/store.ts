import { useEffect, useState } from "preact/hooks";

export interface Store<T> {
  get(): T;
  /** Notifies the listeners, unless the value is the same. */
  set(value: T): void;
  /** @returns a function that removes the listener. */
  subscribe(listener: () => void): () => void;
}

export function createStore<T>(initial: T): Store<T> {
  const listeners = new Set<() => void>();
  let current = initial;
  return {
    get: () => current,
    set(value) {
      if (Object.is(value, current)) return;
      current = value;
      for (const listener of listeners) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The value of a store; renders again when it changes. */
export function useStore<T>(store: Store<T>): T {
  const [, renderAgain] = useState<T>(store.get());
  useEffect(() => {
    const update = () => renderAgain(() => store.get());
    // It may have changed between the rendering and this effect.
    update();
    return store.subscribe(update);
  }, [store]);
  return store.get();
}
