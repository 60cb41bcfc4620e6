import { errorCode } from "../../platform/files/files.ts";
import { TransportError } from "./transport.ts";

/**
 * Reads a package that lies in a file of its own. Alone, before the modules that need it: without a descriptor to read it by (EMFILE,
 * ENFILE) a package may be tried again later, a module that was begun may not.
 *
 * @throws TransportError, so that the request fails and not the program.
 */
export async function loadLate(load: () => Promise<unknown>): Promise<void> {
  try {
    await load();
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    throw new TransportError("other", code, `cannot read a part of this program (${code})`);
  }
}
