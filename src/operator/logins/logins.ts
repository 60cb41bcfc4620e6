import { beyondSpec, operations } from "../../api/api.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { command, localCommand, type OperatorRow } from "../command.ts";
import { isUnknownOperation } from "../failure.ts";
import { onOff, text } from "../flags.ts";
import { type Fact, showFacts } from "../lists/show-list.ts";
import type { Service } from "../service.ts";
import { timeUntil } from "../times.ts";
import { contextCommands } from "./contexts.ts";
import { login, LOGIN_SUMMARY, logout } from "./login.ts";

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
  ...contextCommands,
];

/** Shows the chosen service, the credential, and its organization. */
async function whoami(service: Service): Promise<ExitCode> {
  const result = await service.call(beyondSpec.getSession, {});
  if (result.kind !== "ok") return isUnknownOperation(result) ? showAcceptance(service) : service.failed(result);
  const { value, document } = result.value;
  const { active_organization: organization, credential } = value;
  return service.answer({ ...whereOf(service), session: document }, () =>
    showFacts(service.terminal, [
      ...placeFacts(service),
      ["organization", `${organization.name} (${organization.id})`],
      ["role", organization.role],
      ["id", credential?.id ?? ""],
      ["may", credential?.scopes === null ? "do everything" : (credential?.scopes?.join(" ") ?? "")],
      ["expires", timeUntil(credential?.expires_at, service.now())],
    ]),
  );
}

/** For a service with only the documented operations: shows only whether it accepts the credential. */
async function showAcceptance(service: Service): Promise<ExitCode> {
  const result = await service.call(operations.listRobots, { query: { limit: 1 } });
  if (result.kind !== "ok") return service.failed(result);
  return service.answer({ ...whereOf(service), session: null }, () => {
    showFacts(service.terminal, placeFacts(service));
    service.terminal.note("The service accepts the credential; it does not say whose it is.");
  });
}

function placeFacts({ chosen }: Service): readonly Fact[] {
  return [
    ["service", chosen.baseUrl],
    ["context", chosen.context?.name ?? ""],
    ["credential", chosen.credential.name],
  ];
}

function whereOf({ chosen }: Service) {
  return { url: chosen.baseUrl, context: chosen.context?.name ?? null, credential: chosen.credential.source };
}
