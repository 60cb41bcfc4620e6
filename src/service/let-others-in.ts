/**
 * Lets requests that have arrived be looked at. A local database answers at once: who asks it again and again without this, and
 * waits for nothing else, holds up everybody.
 */
export function letOthersIn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
