import { join } from "node:path";

/** Where scripts/build.ts writes the console. In the bundle, the build replaces this path. */
export const CONSOLE_FOLDER = join(import.meta.dirname, "../../../dist/console");
