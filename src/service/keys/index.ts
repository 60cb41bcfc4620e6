/** API keys: making, listing and revoking them, and the keys made with each other. Other resources use what is listed here. */
export { listWorkingKeys } from "./queries.ts";
export { keyView } from "./rules.ts";
