/** The audit log: who changed what. These exports are for the other resources. */
export { nameActors } from "./audit.ts";
