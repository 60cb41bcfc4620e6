/** API keys: creating, listing and revoking them, and which keys depend on which. These exports are for the other resources. */
export { listWorkingKeys } from "./keys.ts";
export { keyView } from "./keys.ts";
