import { errorCode } from "../../platform/files/files.ts";
import { TransportError } from "./transport.ts";

/**
 * Imports a package from its own file, before the modules that need it: if it cannot be opened for lack of file descriptors (EMFILE, ENFILE),
 * this import can be repeated later, but not that of a module that depends on it.
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
