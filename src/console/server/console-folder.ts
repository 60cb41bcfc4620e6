import { join } from "node:path";

/** Where scripts/build.ts puts the console. In the bundle, which lies elsewhere, it puts another path here. */
export const CONSOLE_FOLDER = join(import.meta.dirname, "../../../dist/console");
