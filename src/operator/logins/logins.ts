import { command, localCommand, type OperatorRow } from "../command.ts";
import { onOff, text } from "../flags.ts";
import { contextsAdd, contextsList, contextsRemove, contextsShow, contextsUse } from "./contexts.ts";
import { login, LOGIN_SUMMARY } from "./login.ts";
import { logout } from "./logout.ts";
import { whoami } from "./whoami.ts";

/** Logins, and the saved services. */
export const loginCommands: readonly OperatorRow[] = [
  localCommand({
    name: "login",
    summary: LOGIN_SUMMARY,
    flags: {
      browser: onOff("open no browser; approve the login in a browser on another computer", { negated: true }),
      keyFile: text("<file>", "not used: a login needs no key", { hidden: true }),
    },
    examples: [
      "robot-policy login --url https://policy.example.com",
      "robot-policy login --url https://policy.example.com --context lab --no-browser",
      "robot-policy contexts add lab --url https://policy.example.com --key-file ~/lab.key   # with a key instead",
    ],
    run: ({ browser }, context, flags) => login(flags, context, browser !== false),
  }),
  localCommand({
    name: "logout",
    summary: "end the login at the service, and delete it here",
    flags: {},
    examples: ["robot-policy logout", "robot-policy logout --context lab"],
    run: (_own, context, flags) => logout(flags, context),
  }),
  command({
    name: "whoami",
    summary: "show the service, the credential, and its organization",
    flags: {},
    examples: ["robot-policy whoami"],
    run: whoami,
  }),
  localCommand({
    name: "contexts list",
    aliases: ["ls"],
    summary: "list the saved services",
    flags: {},
    examples: ["robot-policy contexts list"],
    run: (_own, context, flags) => contextsList(flags, context),
  }),
  localCommand({
    name: "contexts show",
    summary: "show a saved service, by default the current one",
    argument: "[NAME]",
    names: ["contexts"],
    flags: {},
    examples: ["robot-policy contexts show", "robot-policy contexts show lab"],
    run: (_own, context, flags, name) => contextsShow(flags, context, name),
  }),
  localCommand({
    name: "contexts use",
    summary: "make a saved service the current one, which commands use by default",
    argument: "NAME",
    names: ["contexts"],
    flags: {},
    examples: ["robot-policy contexts use lab"],
    run: (_own, context, flags, name) => contextsUse(flags, context, name),
  }),
  localCommand({
    name: "contexts add",
    summary: "save a service: --url, and --key-file if it needs one",
    argument: "NAME",
    flags: {},
    examples: ["robot-policy contexts add lab --url https://policy.lab.example --key-file ~/lab.key"],
    run: (_own, context, flags, name) => contextsAdd(flags, context, name),
  }),
  localCommand({
    name: "contexts remove",
    aliases: ["rm"],
    summary: "delete a saved service, and end its login",
    argument: "NAME",
    names: ["contexts"],
    flags: {},
    examples: ["robot-policy contexts remove lab"],
    run: (_own, context, flags, name) => contextsRemove(flags, context, name),
  }),
];
