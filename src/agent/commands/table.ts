import { JSON_FLAG, type ProgramTable } from "../../cli/command-table.ts";
import { completionRow, completionScripts } from "../../cli/completion.ts";
import type { ProcessContext } from "../../cli/process-context.ts";
import { READY_CATALOG } from "../../manifest/catalog/ids.ts";
import type { InitContext } from "./init.ts";

type AgentContext = InitContext & Pick<ProcessContext, "readInput" | "readSecret">;

/** The commands of robot-policy-agent. */
export const agentProgram: ProgramTable<never, AgentContext> = {
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
      summary: "register now, once, and exit",
      flags: [
        { flag: "--dry-run", summary: "with --setup: show the request; send and write nothing", needs: "--setup" },
        {
          flag: "--if-changed",
          summary: "with --setup: send nothing if the service has this registration already",
          needs: "--setup",
        },
        JSON_FLAG,
      ],
      examples: [
        "robot-policy-agent --setup",
        "robot-policy-agent --setup --dry-run",
        "robot-policy-agent --setup --if-changed",
      ],
      load: async () => (await import("./setup.ts")).setup,
    },
    {
      name: "init",
      summary: "write a commented configuration and manifest; asks for values that no flag gives, then runs doctor",
      flags: [
        { flag: "--type <id>", summary: "robot type, from the catalog", suggestions: [...READY_CATALOG.keys()] },
        { flag: "--extend", summary: "define a custom type that extends --type, to change cameras or limits" },
        { flag: "--url <url>", summary: "address of the service" },
        {
          flag: "--ca-file <file>",
          summary: "PEM file of a private certificate authority, if one issued the service's certificate",
        },
        {
          flag: "--allow-insecure",
          summary: "allow plain http to another machine: anyone on the network path can read the API key",
        },
        { flag: "--region <region>", summary: "cloud region nearest to the robot" },
        { flag: "--key-file <file>", summary: "file with the API key (default: api-key beside the configuration)" },
        { flag: "--name <template>", summary: "name of the robot (default: {hostname})" },
        { flag: "--site <site>", summary: "where the robot is" },
        { flag: "--label <name=value>", summary: "label to select the robot by; repeatable", repeats: true },
        { flag: "--proxy <url>", summary: "http proxy, or none for no proxy" },
        {
          flag: "--enrolment-key <file>",
          summary: "file with a key for enrolment only: no operator has to approve the robot",
        },
        {
          flag: "--unit <unit>",
          summary: "what the joints of a LeRobot robot are in; calibrated_range is -100 to 100",
          choices: ["deg", "calibrated_range"],
        },
        {
          flag: "--file <file>",
          summary: "configuration file of the robot; repeatable, in digest order",
          repeats: true,
        },
        { flag: "--detect", summary: "look for the robot's files and devices, as at a terminal; see also --yes" },
        { flag: "--yes", summary: "take what --detect finds, and ask only where that is not clear" },
        { flag: "--dir <dir>", summary: "folder for both files (default: where the agent reads them)" },
        { flag: "--force", summary: "replace existing files" },
        { flag: "--enroll", summary: "then get the robot a credential of its own, as the command enroll does" },
        { flag: "--no-test", summary: "ask nothing of the service, and do not run the checks of doctor" },
      ],
      examples: [
        "robot-policy-agent init",
        "robot-policy-agent init --enroll --url https://policy.example.com --region eu-central-1 \\",
        "  --type yam.bimanual-joint-position.v1 \\",
        "  --file /opt/yam/configs/yam_left.yaml --file /opt/yam/configs/yam_right.yaml",
        "sudo robot-policy-agent init --detect --yes --url https://policy.example.com --region eu-central-1",
      ],
      load: async () => (await import("./init.ts")).init,
    },
    {
      name: "run",
      summary: "watch the configuration files and keep the registration up to date, until stopped",
      flags: [],
      examples: [
        "robot-policy-agent run",
        "robot-policy-agent run --config ./config.yaml --state-dir ./state --runtime-dir ./run",
      ],
      load: async () => (await import("./run.ts")).run,
    },
    {
      name: "look",
      summary: "look once, register what changed, and end; robot-policy-agent.timer does this each minute",
      flags: [],
      examples: ["robot-policy-agent look"],
      load: async () => (await import("./look.ts")).look,
    },
    {
      name: "check",
      summary: "check configuration, manifest and files, without network",
      flags: [{ flag: "--strict", summary: "fail on warnings, too" }, JSON_FLAG],
      examples: ["robot-policy-agent check", "robot-policy-agent check --json"],
      load: async () => (await import("./check.ts")).check,
    },
    {
      name: "digest",
      summary: "print the digest of the configuration files",
      flags: [{ flag: "--explain", summary: "show how it is computed, and a command that reproduces it" }, JSON_FLAG],
      examples: ["robot-policy-agent digest", "robot-policy-agent digest --explain"],
      load: async () => (await import("./digest.ts")).digest,
    },
    {
      name: "status",
      summary: "show what is registered and whether it is up to date; the exit code tells the health",
      flags: [{ flag: "--watch", summary: "show it again after each change" }, JSON_FLAG],
      examples: ["robot-policy-agent status", "robot-policy-agent status --watch", "robot-policy-agent status --json"],
      load: async () => (await import("./status.ts")).status,
    },
    {
      name: "reload",
      summary: "make the running agent apply edited files now; fails if they are invalid",
      flags: [JSON_FLAG],
      examples: ["robot-policy-agent reload", "systemctl reload robot-policy-agent"],
      load: async () => (await import("./reload.ts")).reload,
    },
    {
      name: "hold",
      summary: "register nothing while you calibrate: until release, or while COMMAND runs",
      argument: "[COMMAND...]",
      flags: [
        {
          flag: "--for <time>",
          summary: "how long at most: 90s, 30m, 2h; up to 8h (default: 30m, or while the command runs)",
        },
        { flag: "--reason <text>", summary: "what for; status shows it" },
        JSON_FLAG,
      ],
      examples: [
        'robot-policy-agent hold --for 1h --reason "calibrating both arms"',
        "robot-policy-agent hold -- ./calibrate.sh",
      ],
      load: async () => {
        const { hold } = await import("./hold.ts");
        return (flags, context, _first, _second, words) => hold(flags, context, words);
      },
    },
    {
      name: "release",
      summary: "end a hold, and register what was changed",
      flags: [JSON_FLAG],
      examples: ["robot-policy-agent release"],
      load: async () => (await import("./hold.ts")).release,
    },
    {
      name: "rebind",
      summary: "register this machine as a robot of its own, after its image was copied or its name changed",
      flags: [
        { flag: "--same-robot", summary: "keep the name: this is the registered robot with a new main board" },
        JSON_FLAG,
      ],
      examples: ["robot-policy-agent rebind", "robot-policy-agent rebind --same-robot"],
      load: async () => (await import("./rebind.ts")).rebind,
    },
    {
      name: "doctor",
      summary: "find out why this robot is not registered: checks files, network, key, clock and more",
      flags: [JSON_FLAG],
      examples: ["robot-policy-agent doctor", "robot-policy-agent doctor --json"],
      load: async () => (await import("./doctor.ts")).doctor,
    },
    {
      name: "set-key",
      summary:
        "store the API key where the agent reads it and no other user can; asks for the key, or reads it from stdin",
      flags: [{ flag: "--from <file>", summary: "read the key from this file" }, JSON_FLAG],
      examples: ["robot-policy-agent set-key", "robot-policy-agent set-key --from /media/usb/api-key"],
      load: async () => (await import("./set-key.ts")).setKey,
    },
    {
      name: "enroll",
      summary: "get this robot a credential of its own, which an operator approves by a code",
      flags: [
        { flag: "--no-wait", summary: "show the code and exit; the agent goes on by itself" },
        {
          flag: "--migrate",
          summary: "remove the API key once the robot is enrolled",
          excludes: ["--no-wait"],
        },
        JSON_FLAG,
      ],
      examples: [
        "robot-policy-agent enroll",
        "robot-policy-agent enroll --no-wait --json",
        "robot-policy-agent enroll --migrate",
      ],
      load: async () => (await import("./enroll.ts")).enroll,
    },
    {
      name: "grant",
      summary: "let the agent's user read the robot's configuration files, with the least access that suffices",
      flags: [
        {
          flag: "--method <method>",
          summary: "acl: access lists on the files; owner: run as the files' owner",
          choices: ["acl", "owner"],
          default: "acl",
        },
        { flag: "--dry-run", summary: "show the changes; make none" },
        { flag: "--revoke", summary: "remove all access that was granted", excludes: ["--method"] },
      ],
      examples: [
        "robot-policy-agent grant --dry-run",
        "robot-policy-agent grant",
        "robot-policy-agent grant --method owner",
        "robot-policy-agent grant --revoke",
      ],
      load: async () => {
        const { grant } = await import("../../installer/grant/grant.ts");
        const { readGrantInputs } = await import("../access/check-access.ts");
        return (flags, context) => grant(flags, { ...context, readInputs: () => readGrantInputs(flags, context) });
      },
    },
    {
      name: "contract",
      summary: "show the contract that is sent for a custom robot type",
      argument: "[FILE]",
      flags: [{ flag: "--diff", summary: "show what changed since the registration" }, JSON_FLAG],
      examples: [
        "robot-policy-agent contract",
        "robot-policy-agent contract --diff",
        "robot-policy-agent contract --json ./robot-manifest.yaml",
      ],
      load: async () => (await import("./contract.ts")).contract,
    },
    {
      name: "catalog",
      summary: "list the robot types of the catalog, or show one",
      flags: [JSON_FLAG],
      argument: "[ID]",
      suggestions: [...READY_CATALOG.keys()],
      examples: ["robot-policy-agent catalog", "robot-policy-agent catalog yam.bimanual-joint-position.v1"],
      load: async () => (await import("./catalog.ts")).catalog,
    },
    {
      name: "devices",
      summary: "list cameras, serial adapters and CAN interfaces, with the lines that a manifest needs for them",
      flags: [JSON_FLAG],
      examples: ["robot-policy-agent devices", "robot-policy-agent devices --json"],
      load: async () => (await import("./devices.ts")).devices,
    },
    {
      name: "schema",
      summary: "print the JSON Schema of a file, for editors",
      flags: [],
      argument: "DOCUMENT",
      choices: ["manifest", "config"],
      examples: ["robot-policy-agent schema manifest > robot-manifest.schema.json"],
      load: async () => (await import("./schema.ts")).schema,
    },
    {
      name: "install",
      summary: "install this program as a service, on this machine or in an image, or upgrade it",
      flags: [
        { flag: "--dry-run", summary: "show the changes; make none" },
        { flag: "--root <dir>", summary: "install into the image in this folder" },
        { flag: "--key-file <file>", summary: "install the API key from this file (-: from stdin)" },
        { flag: "--node <file>", summary: "Node to install (default: the one that runs this command)" },
        { flag: "--first-boot", summary: "also register during the first boot, for an image that is flashed" },
        { flag: "--on-demand", summary: "a timer that looks each minute, in place of an agent that runs" },
        {
          flag: "--resident",
          summary: "an agent that runs all the time (default of a first installation)",
          excludes: ["--on-demand"],
        },
      ],
      examples: [
        "robot-policy-agent install --dry-run",
        "robot-policy-agent install --key-file /media/stick/api-key",
        "robot-policy-agent install --root /mnt/image --first-boot",
        "robot-policy-agent install --on-demand",
      ],
      load: async () => {
        const { install } = await import("../../installer/install.ts");
        return (flags, context) => install(flags, { ...context, completions: completionScripts(agentProgram.name) });
      },
    },
    {
      name: "uninstall",
      summary: "remove the installed program; configuration, key and registration stay without --purge",
      flags: [
        { flag: "--dry-run", summary: "show the changes; make none" },
        { flag: "--root <dir>", summary: "remove it from the image in this folder" },
        { flag: "--purge", summary: "also remove configuration, key, registration and user" },
      ],
      examples: ["robot-policy-agent uninstall --dry-run", "robot-policy-agent uninstall --purge"],
      load: async () => {
        const { uninstall } = await import("../../installer/uninstall.ts");
        return (flags, context) => uninstall(flags, context);
      },
    },
    completionRow("robot-policy-agent"),
  ],
  examples: [
    "robot-policy-agent init                 write a commented configuration and manifest",
    "robot-policy-agent check                see what is wrong with them",
    "robot-policy-agent --setup              register this robot once",
    "robot-policy-agent status               see what the service holds",
    "robot-policy-agent doctor               find out why it does not work",
  ],
  unrepeated: ["install", "uninstall", "catalog", "devices", "schema", "completion"],
};
