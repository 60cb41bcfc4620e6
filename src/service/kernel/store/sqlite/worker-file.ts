/** The program of the store's threads. scripts/build.ts replaces this path in the bundle. */
export const SQLITE_WORKER = new URL("./worker.ts", import.meta.url);
