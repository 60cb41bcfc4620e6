/** Logins of command lines and of the console, and their sessions. These exports are for the other resources. */
export { denyLoginsOf } from "./logins.ts";
