import type { OperatorRow } from "./operator-flags.ts";

/** Logins and contexts. */
export const accountRows: readonly OperatorRow[] = [
  {
    name: "login",
    summary: "sign in on a page in a browser, and save the service as a context",
    flags: [
      { flag: "--no-browser", summary: "open no browser; approve the login in a browser on another computer" },
      { flag: "--key-file <file>", summary: "not used: a login needs no key", hidden: true },
    ],
    examples: [
      "robot-policy login --url https://policy.example.com",
      "robot-policy login --url https://policy.example.com --context lab --no-browser",
      "robot-policy contexts add lab --url https://policy.example.com --key-file ~/lab.key   # with a key instead",
    ],
    load: async () => (await import("../operator/logins/login.ts")).login,
  },
  {
    name: "logout",
    summary: "end the login at the service, and delete it here",
    examples: ["robot-policy logout", "robot-policy logout --context lab"],
    load: async () => (await import("../operator/logins/logout.ts")).logout,
  },
  {
    name: "whoami",
    summary: "show the service, the credential, and its organization",
    examples: ["robot-policy whoami"],
    load: async () => (await import("../operator/logins/whoami.ts")).whoami,
  },
  {
    name: "contexts list",
    aliases: ["ls"],
    summary: "list the saved services",
    examples: ["robot-policy contexts list"],
    load: async () => (await import("../operator/logins/contexts.ts")).contextsList,
  },
  {
    name: "contexts show",
    summary: "show a saved service, by default the current one",
    argument: "[NAME]",
    names: ["contexts"],
    examples: ["robot-policy contexts show", "robot-policy contexts show lab"],
    load: async () => (await import("../operator/logins/contexts.ts")).contextsShow,
  },
  {
    name: "contexts use",
    summary: "make a saved service the current one, which commands use by default",
    argument: "NAME",
    names: ["contexts"],
    examples: ["robot-policy contexts use lab"],
    load: async () => (await import("../operator/logins/contexts.ts")).contextsUse,
  },
  {
    name: "contexts add",
    summary: "save a service: --url, and --key-file if it needs one",
    argument: "NAME",
    examples: ["robot-policy contexts add lab --url https://policy.lab.example --key-file ~/lab.key"],
    load: async () => (await import("../operator/logins/contexts.ts")).contextsAdd,
  },
  {
    name: "contexts remove",
    aliases: ["rm"],
    summary: "delete a saved service, and end its login",
    argument: "NAME",
    names: ["contexts"],
    examples: ["robot-policy contexts remove lab"],
    load: async () => (await import("../operator/logins/contexts.ts")).contextsRemove,
  },
];
