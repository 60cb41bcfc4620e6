/** Logins of command lines and of the console, and the sessions they become. Other resources use what is listed here. */
export { denyLoginsOf } from "./queries.ts";
