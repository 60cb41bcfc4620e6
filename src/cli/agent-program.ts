import type { InitContext } from "../agent/commands/init.ts";
import { READY_CATALOG } from "../manifest/catalog/ids.ts";
import type { ProgramTable } from "./command-table.ts";
import type { ProcessContext } from "./process-context.ts";

/** Every flag any command of the agent takes. */
interface AgentFlags {
  readonly config?: string;
  readonly stateDir?: string;
  readonly runtimeDir?: string;
  readonly json?: boolean;
  readonly dryRun?: boolean;
  readonly ifChanged?: boolean;
  readonly strict?: boolean;
  readonly explain?: boolean;
  readonly watch?: boolean;
  readonly type?: string;
  readonly url?: string;
  readonly region?: string;
  readonly keyFile?: string;
  readonly name?: string;
  readonly file?: readonly string[];
  readonly dir?: string;
  readonly force?: boolean;
  readonly from?: string;
  readonly method?: string;
  readonly revoke?: boolean;
  readonly sameRobot?: boolean;
  readonly caFile?: string;
  readonly test?: boolean;
  readonly root?: string;
  readonly keyStdin?: boolean;
  readonly node?: string;
  readonly firstBoot?: boolean;
  readonly enable?: boolean;
  readonly start?: boolean;
  readonly purge?: boolean;
}

const JSON_FLAG = { flag: "--json", summary: "print one JSON document" };

type AgentContext = InitContext & Pick<ProcessContext, "readInput" | "readSecret">;

/** The commands of robot-policy-agent. */
export const agentProgram: ProgramTable<AgentFlags, AgentContext> = {
  name: "robot-policy-agent",
  summary:
    "Keeps this robot registered with a robot policy service, and registers it again whenever its configuration files change.",
  common: [
    { flag: "--config <file>", summary: "agent configuration (default: /etc/robot-policy-agent/config.yaml)" },
    { flag: "--state-dir <dir>", summary: "where the registration is kept (default: /var/lib/robot-policy-agent)" },
    { flag: "--runtime-dir <dir>", summary: "where the control socket is (default: /run/robot-policy-agent)" },
  ],
  commands: [
    {
      name: "--setup",
      summary: "register once, now, and exit",
      flags: [
        { flag: "--dry-run", summary: "with --setup: show what would be sent; no request, nothing written" },
        { flag: "--if-changed", summary: "with --setup: send nothing when the service has it already" },
        JSON_FLAG,
      ],
      examples: [
        "robot-policy-agent --setup",
        "robot-policy-agent --setup --dry-run",
        "robot-policy-agent --setup --if-changed",
      ],
      load: async () => (await import("../agent/commands/setup.ts")).setup,
    },
    {
      name: "init",
      summary:
        "write a commented configuration and manifest; asks for what the flags leave open, and tests the service",
      flags: [
        { flag: "--type <id>", summary: "type of the robot, from the catalog", suggestions: [...READY_CATALOG.keys()] },
        { flag: "--extend", summary: "write a type of your own that starts from --type, to change cameras or limits" },
        { flag: "--url <url>", summary: "address of the service" },
        { flag: "--ca-file <file>", summary: "certificates of your own authority (PEM), if the service's is from one" },
        { flag: "--region <region>", summary: "cloud region nearest to the robot" },
        { flag: "--key-file <file>", summary: "file with the API key (default: api-key beside the configuration)" },
        { flag: "--name <template>", summary: "name of the robot (default: {hostname})" },
        {
          flag: "--file <file>",
          summary: "a configuration file of the robot; repeat it in digest order",
          repeats: true,
        },
        { flag: "--dir <dir>", summary: "where to write both files (default: where the agent looks for them)" },
        { flag: "--force", summary: "replace files that are there already" },
        { flag: "--no-test", summary: "do not test address, certificate and key" },
      ],
      examples: [
        "robot-policy-agent init",
        "robot-policy-agent init --url https://policy.example.com --region eu-central-1 \\",
        "  --type yam.bimanual-joint-position.v1 \\",
        "  --file /opt/yam/configs/yam_left.yaml --file /opt/yam/configs/yam_right.yaml",
      ],
      load: async () => (await import("../agent/commands/init.ts")).init,
    },
    {
      name: "run",
      summary: "watch the configuration files and keep the registration true, until stopped",
      flags: [],
      examples: [
        "robot-policy-agent run",
        "robot-policy-agent run --config ./config.yaml --state-dir ./state --runtime-dir ./run",
      ],
      load: async () => (await import("../agent/commands/run.ts")).run,
    },
    {
      name: "check",
      summary: "check configuration, manifest and files, without network",
      flags: [{ flag: "--strict", summary: "warnings fail too" }, JSON_FLAG],
      examples: ["robot-policy-agent check", "robot-policy-agent check --json"],
      load: async () => (await import("../agent/commands/check.ts")).check,
    },
    {
      name: "digest",
      summary: "print the configuration digest of what is on the disk",
      flags: [{ flag: "--explain", summary: "show how it is made, and the command that repeats it" }, JSON_FLAG],
      examples: ["robot-policy-agent digest", "robot-policy-agent digest --explain"],
      load: async () => (await import("../agent/commands/digest.ts")).digest,
    },
    {
      name: "status",
      summary: "show what is registered and whether it is true; exits by health",
      flags: [{ flag: "--watch", summary: "show it again at each change" }, JSON_FLAG],
      examples: ["robot-policy-agent status", "robot-policy-agent status --watch", "robot-policy-agent status --json"],
      load: async () => (await import("../agent/commands/status.ts")).status,
    },
    {
      name: "reload",
      summary: "have the running agent take over edits now; fails when they are bad",
      flags: [JSON_FLAG],
      examples: ["robot-policy-agent reload", "systemctl reload robot-policy-agent"],
      load: async () => (await import("../agent/commands/reload.ts")).reload,
    },
    {
      name: "rebind",
      summary: "make this machine a robot of its own, after a copied image or a new name",
      flags: [
        { flag: "--same-robot", summary: "it is the robot that registered, with a new main board: keep its name" },
        JSON_FLAG,
      ],
      examples: ["robot-policy-agent rebind", "robot-policy-agent rebind --same-robot"],
      load: async () => (await import("../agent/commands/rebind.ts")).rebind,
    },
    {
      name: "doctor",
      summary: "find out what keeps this robot from being registered: files, network, key, clock and more",
      flags: [JSON_FLAG],
      examples: ["robot-policy-agent doctor", "robot-policy-agent doctor --json"],
      load: async () => (await import("../agent/commands/doctor.ts")).doctor,
    },
    {
      name: "set-key",
      summary:
        "put the API key where the agent reads it, readable for nobody else; asks for it, or takes it from stdin",
      flags: [{ flag: "--from <file>", summary: "take it from a file" }, JSON_FLAG],
      examples: ["robot-policy-agent set-key", "robot-policy-agent set-key --from /media/usb/api-key"],
      load: async () => (await import("../agent/commands/set-key.ts")).setKey,
    },
    {
      name: "grant",
      summary: "let the agent's user read the robot's configuration files, as little as it takes",
      argument: "[FILE]",
      flags: [
        {
          flag: "--method <method>",
          summary: "acl: access lists on the files; group: join the files' group; owner: run as the files' owner",
          choices: ["acl", "group", "owner"],
          default: "acl",
        },
        { flag: "--dry-run", summary: "show what would be done; nothing is changed" },
        { flag: "--revoke", summary: "take back everything that was granted" },
        JSON_FLAG,
      ],
      examples: [
        "robot-policy-agent grant --dry-run",
        "robot-policy-agent grant",
        "robot-policy-agent grant --method owner",
        "robot-policy-agent grant --revoke",
      ],
      load: async () => {
        const { grant } = await import("../installer/commands/grant.ts");
        const { readGrantInputs } = await import("../agent/access/grant-inputs.ts");
        return (flags, context, file) =>
          grant(flags, { ...context, readInputs: () => readGrantInputs(flags, context) }, file);
      },
    },
    {
      name: "contract",
      summary: "show the contract that is sent for a custom robot type",
      argument: "[FILE]",
      flags: [
        { flag: "--explain", summary: "show where each number comes from" },
        { flag: "--diff", summary: "show what changed since the registration" },
        JSON_FLAG,
      ],
      examples: [
        "robot-policy-agent contract",
        "robot-policy-agent contract --diff",
        "robot-policy-agent contract --json ./robot-manifest.yaml",
      ],
      load: async () => (await import("../agent/commands/contract.ts")).contract,
    },
    {
      name: "catalog",
      summary: "list the robot types that are known by id, or show one",
      flags: [JSON_FLAG],
      argument: "[ID]",
      suggestions: [...READY_CATALOG.keys()],
      examples: ["robot-policy-agent catalog", "robot-policy-agent catalog yam.bimanual-joint-position.v1"],
      load: async () => (await import("../agent/commands/catalog.ts")).catalog,
    },
    {
      name: "schema",
      summary: "print the JSON Schema of a file, for editors",
      flags: [],
      argument: "DOCUMENT",
      choices: ["manifest", "config"],
      examples: ["robot-policy-agent schema manifest > robot-manifest.schema.json"],
      load: async () => (await import("../agent/commands/schema.ts")).schema,
    },
    {
      name: "install",
      summary: "install this program as a service, on this machine or in an image; a second time, upgrade it",
      flags: [
        { flag: "--dry-run", summary: "show every change; make none" },
        { flag: "--root <dir>", summary: "install into the image whose files lie there" },
        { flag: "--key-file <file>", summary: "put this API key in place (-: from stdin)" },
        { flag: "--key-stdin", summary: "put the API key in place that comes on stdin" },
        { flag: "--node <file>", summary: "the Node to install (default: the one that runs this)" },
        { flag: "--first-boot", summary: "register in the first boot, too, as images that are flashed want it" },
        { flag: "--no-enable", summary: "do not start it at each boot" },
        { flag: "--no-start", summary: "neither start nor restart it now" },
        JSON_FLAG,
      ],
      examples: [
        "robot-policy-agent install --dry-run",
        "robot-policy-agent install --key-file /media/stick/api-key",
        "robot-policy-agent install --root /mnt/image --first-boot",
      ],
      load: async () => {
        const { install } = await import("../installer/commands/install.ts");
        const { completionScripts } = await import("./completion/completion.ts");
        const { SCHEMA_VERSION } = await import("../agent/registration/registration.ts");
        return (flags, context) =>
          install(flags, {
            ...context,
            completions: completionScripts(agentProgram),
            stateSchemaVersion: SCHEMA_VERSION,
          });
      },
    },
    {
      name: "uninstall",
      summary: "take the installed program off again; configuration, key and registration stay unless purged",
      flags: [
        { flag: "--dry-run", summary: "show every change; make none" },
        { flag: "--root <dir>", summary: "take it out of the image whose files lie there" },
        { flag: "--purge", summary: "remove configuration, key, registration and user, too" },
        JSON_FLAG,
      ],
      examples: ["robot-policy-agent uninstall --dry-run", "robot-policy-agent uninstall --purge"],
      load: async () => {
        const { uninstall } = await import("../installer/commands/uninstall.ts");
        return (flags, context) => uninstall(flags, context);
      },
    },
    {
      name: "completion",
      summary: "print the completion script of a shell",
      flags: [],
      argument: "SHELL",
      choices: ["bash", "zsh", "fish"],
      examples: [
        "source <(robot-policy-agent completion bash)",
        'robot-policy-agent completion zsh > "${fpath[1]}/_robot-policy-agent"',
        "robot-policy-agent completion fish > ~/.config/fish/completions/robot-policy-agent.fish",
      ],
      load: async () => {
        const { printCompletion } = await import("./completion/completion.ts");
        return (_flags, { terminal }, shell) => printCompletion(agentProgram, shell, terminal);
      },
    },
  ],
  examples: [
    "robot-policy-agent init                 write a commented configuration and manifest",
    "robot-policy-agent check                see what is wrong with them",
    "robot-policy-agent --setup              register this robot once",
    "robot-policy-agent status               see what the service holds",
    "robot-policy-agent doctor               find out why it does not work",
  ],
};
