/**
 * The blocks of the pages do what the pages say. Every block is either run here, as far as a machine with Node, a shell and openssl can,
 * or listed with the reason why not. Programs of ours run in this process, with flags for the folders of the test.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { beforeAll, expect, test } from "vitest";

import { readConfiguration as readAgentConfiguration } from "../../../src/agent/configuration/configuration.ts";
import { runAgentProgram } from "../../../src/agent/program.ts";
import { hardwareLine } from "../../../src/hardware/hardware.ts";
import { readManifest } from "../../../src/manifest/manifest.ts";
import { operatorProgram } from "../../../src/operator/program.ts";
import { sha256Hex } from "../../../src/platform/crypto.ts";
import { readConfiguration as readServiceConfiguration } from "../../../src/service/configuration/configuration.ts";
import { argvOf, bytesOf, namedBlocks } from "../../support/documents/blocks.ts";
import { commandsOf, plainCommand } from "../../support/documents/commands.ts";
import { type Block, readPage } from "../../support/documents/pages.ts";
import { testFolder } from "../../support/folder.ts";
import { openEnrolling } from "../../support/operator/enrolling.ts";
import { openOperatorSite, runOperator } from "../../support/operator/operator.ts";
import { execute } from "../../support/programs/execute.ts";
import { runInProcess } from "../../support/programs/in-process.ts";
import { hasProgram } from "../../support/programs/programs.ts";
import { createRobot } from "../../support/robot/robot.ts";
import { listening, startServiceCommand } from "../../support/service/service-command.ts";

/** Blocks that another test takes from the page, because they need root, systemd or a server. */
const RUN_ELSEWHERE: Readonly<Record<string, string>> = {
  "README.md: scripts/package --arch amd64": "test/support/nspawn/package.ts",
  "README.md: sudo apt install ./robot-policy-agent_0.1.0_amd64.deb": "test/e2e/provision.test.ts",
  "src/service/PRODUCTION.md: # /etc/prometheus/prometheus.yml": "test/integration/documents/service-blocks.test.ts",
  "src/service/PRODUCTION.md: # /etc/robot-policy-service/config.yaml": "test/e2e/service-unit.test.ts",
  "src/service/PRODUCTION.md: sudo apt install ./robot-policy_0.1.0_amd64.deb": "test/e2e/service-unit.test.ts",
  "src/service/PRODUCTION.md: sudo robot-policy-service keys create --config /etc/robot-policy-service/config.yaml --label 'cell 4' --scope robots:setup":
    "test/e2e/service-unit.test.ts",
  "src/service/PRODUCTION.md: sudo robot-policy-service serve --check --config /etc/robot-policy-service/config.yaml":
    "test/e2e/service-unit.test.ts",
  "src/service/README.md: # /etc/robot-policy-service/config.yaml": "test/integration/documents/service-blocks.test.ts",
  "src/service/README.md: # at the end of /etc/haproxy/haproxy.cfg":
    "test/integration/documents/service-blocks.test.ts",
  "src/service/README.md: ; in /etc/pgbouncer/pgbouncer.ini": "test/integration/documents/service-blocks.test.ts",
  "src/service/README.md: echo 'postgres://robot_policy:change-me@db.example.com/robot_policy' | sudo install -m 600 /dev/stdin /etc/robot-policy-service/database-url":
    "test/integration/documents/service-blocks.test.ts",
  'src/service/README.md: pg_dump --format=custom --file=robots.dump "$DATABASE"':
    "test/integration/documents/service-blocks.test.ts",
  "src/service/README.md: robot-policy-service backup robots.db --data ~/robot-policy":
    "test/integration/documents/service-blocks.test.ts",
  "src/service/README.md: sudo -u postgres psql -c \"create role robot_policy login password 'change-me'\"":
    "test/integration/documents/service-blocks.test.ts",
  "src/service/README.md: sudo groupadd --system --force robot-policy-tls": "test/e2e/service-unit.test.ts",
  "src/service/README.md: sudo systemctl stop robot-policy-service": "test/e2e/service-unit.test.ts",
  "src/service/README.md: sudo systemctl stop robot-policy-service && sudo mv /var/lib/robot-policy-service /var/lib/robot-policy-service.upgraded":
    "test/e2e/service-unit.test.ts",
  "systemd/README.md: # /etc/robot-policy-agent/config.yaml": "test/e2e/images.test.ts",
  "systemd/README.md: # /etc/robot-policy-agent/robot-manifest.yaml": "test/e2e/images.test.ts",
  "systemd/README.md: # sudo systemctl edit robot-policy-agent; then: sudo systemctl restart robot-policy-agent":
    "test/e2e/homes.test.ts",
  "systemd/README.md: apt install ./robot-policy-agent_0.1.0_amd64.deb": "test/e2e/images.test.ts",
  // Without its first line, which builds for minutes.
  "systemd/README.md: npm ci && npm run build": "test/e2e/service-unit.test.ts",
  "systemd/README.md: robot-policy keys create 'images of July' --enroll --uses 20 --expires 7d --site plant-1 --out ./enrolment-key":
    "test/e2e/images.test.ts",
  "systemd/README.md: sudo install -D -m 644 robot-policy.asc /etc/apt/keyrings/robot-policy.asc":
    "test/e2e/repository.test.ts",
  "systemd/README.md: sudo node_modules/.bin/node dist/robot-policy-agent.cjs install": "test/e2e/installer.test.ts",
  "systemd/README.md: sudo node_modules/.bin/node dist/robot-policy-agent.cjs install --root /mnt/image --first-boot --key-file ./api-key":
    "test/e2e/installer.test.ts",
  "systemd/README.md: sudo robot-policy-agent grant --dry-run": "test/e2e/homes.test.ts",
  "systemd/README.md: sudo systemctl disable --now robot-policy-agent.service": "test/e2e/on-demand.test.ts",
};

/** Blocks that are not run, and what shows the same. */
const NOT_RUN: Readonly<Record<string, string>> = {
  "README.md: scripts/quickstart": "test/unit/cli/quickstart.test.ts starts it, and scripts/test would run this test",
  "README.md: sudo robot-policy-agent init": "asks: the block of config/README.md, with flags, is run here",
  'src/README.md: npm ci && export PATH="$PWD/node_modules/.bin:$PATH"': "installs, and runs these tests",
  "src/README.md: scripts/lab/bench": "measures for minutes",
  "systemd/README.md: gpg --quick-generate-key 'Robot packages <robots@example.com>'":
    "asks for a password, and builds for minutes: test/integration/package/repository.test.ts does the same",
};

interface Run {
  readonly what: string;
  /** A program without which it is skipped. */
  readonly needs?: string;
  /** By page and first line. */
  readonly blocks: readonly string[];
  run(...blocks: readonly Block[]): Promise<void>;
}

const AGENT_PAGE = "src/agent/README.md";
const OWN_TYPE = "config/README.md: robot_type_id: acme.so101-cell.v1";

const LINE_BY_HAND = `src/manifest/SPECIFICATION.md: printf %s '{"bus":"usb","index":0,"interface":0,"product":"082d","serial":"4F3A21DF","vendor":"046d"}' | sha256sum`;

const RUNS: readonly Run[] = [
  {
    what: "a robot, from init to its status",
    blocks: [
      "config/README.md: sudo robot-policy-agent init --url https://policy.example.com --region eu-central-1",
      "README.md: sudo robot-policy-agent check",
      "README.md: sudo robot-policy-agent enroll",
      "README.md: robot-policy robots approve WXYZ-2345",
      `${AGENT_PAGE}: sudo robot-policy-agent --setup`,
      "README.md: sudo robot-policy-agent status",
      `${AGENT_PAGE}: curl --unix-socket /run/robot-policy-agent/control.sock http://agent/metrics`,
    ],
    async run(init, check, enroll, approve, setup, status, metrics) {
      await using site = await openOperatorSite();
      const files = { "yam_left.yaml": "offset: 1\n", "yam_right.yaml": "offset: 2\n" };
      await using robot = await createRobot({ service_url: site.service.url, key: "unused", files });
      const folder = robot.path("etc");
      // The last flag wins.
      const agent = (argv: readonly string[]) => robot.run([...argv, "--config", join(folder, "config.yaml")]);
      const answers = argvOf(init).map((word) =>
        word.replace("https://policy.example.com", site.service.url).replace("/opt/yam/configs", robot.folder),
      );
      expect(await robot.run([...answers, "--dir", folder])).toMatchObject({ code: 0 });
      expect((await agent(argvOf(check))).stdout).toMatch(/^ok \S+: sha256:[0-9a-f]{64}$/m);

      const shown = await agent([...argvOf(enroll), "--no-wait"]);
      const [code = ""] = shown.stdout.match(/\b[A-Z2-9]{4}-[A-Z2-9]{4}\b/) ?? [];
      const approval = await site.run(...argvOf(approve).map((word) => word.replace("WXYZ-2345", code)));
      expect(approval).toMatchObject({ exitCode: 0 });
      expect((await agent(argvOf(enroll))).stdout).toContain("Enrolled as");

      expect(firstWords((await agent(argvOf(setup))).stdout)).toEqual(firstWords(answerOf(setup)));
      await using daemon = await robot.start({ CONFIGURATION_DIRECTORY: folder });
      await daemon.until(({ state }) => state === "registered");
      expect(firstWords((await agent(argvOf(status))).stdout)).toEqual(firstWords(answerOf(status)));
      const { pathname } = new URL(argvOf(metrics).at(-1) ?? "");
      expect(await daemon.ask("GET", pathname)).toContain("# TYPE robot_policy_agent_");
    },
  },
  {
    what: "a hold, and its end",
    blocks: [`${AGENT_PAGE}: robot-policy-agent hold --for 1h --reason "both arms"`],
    async run(block) {
      await using robot = await createRobot({ service_url: "http://127.0.0.1:9", key: "unused" });
      const held = await robot.run(argvOf(block));
      const released = await robot.run(["release"]);
      const [first = "", , last = ""] = block.text.split("\n").slice(1);
      // Hints repeat the folders of the test.
      expect(held.stderr.trim().replace(/-agent .* release/, "-agent release")).toBe(first);
      expect(firstWords(released.stdout)).toEqual(firstWords(last));
    },
  },
  {
    what: "the digest by hand → the agent's",
    blocks: [`${AGENT_PAGE}: sha256sum yam_left.yaml yam_right.yaml | cut -c1-64 | sha256sum`],
    async run(block) {
      const files = { "yam_left.yaml": "offset: 1\n", "yam_right.yaml": "offset: 2\n" };
      await using robot = await createRobot({ service_url: "http://127.0.0.1:9", key: "unused", files });
      const byHand = (await shell(robot.folder, block)).slice(0, 64);
      expect((await robot.run(["digest"])).stdout.trim()).toBe(`sha256:${byHand}`);
    },
  },
  {
    what: "the line of a camera by hand → the hash of the program's",
    blocks: [LINE_BY_HAND],
    async run(block) {
      const facts = {
        bus: "usb",
        index: 0,
        interface: 0,
        product: "082d",
        vendor: "046d",
        port: "pci0000:00/14.0/usbv2/1",
      };
      const line = hardwareLine({ ...facts, serial: "4F3A21DF" }, "serial");
      expect((await shell("/", block)).slice(0, 64)).toBe(sha256Hex(line));
    },
  },
  {
    what: "configurations → no finding",
    blocks: [
      "config/README.md: service:",
      "systemd/README.md: # /etc/robot-policy-agent/config.yaml",
      "src/service/README.md: # /etc/robot-policy-service/config.yaml",
      "src/service/PRODUCTION.md: # /etc/robot-policy-service/config.yaml",
    ],
    async run(own, ofImages, ...services) {
      for (const block of [own, ofImages])
        expect(readAgentConfiguration(bytesOf(block), "/etc/config.yaml").findings, block.place).toEqual([]);
      for (const block of services) expect(readServiceConfiguration(bytesOf(block)).findings, block.place).toEqual([]);
    },
  },
  {
    what: "manifests → no finding",
    blocks: [
      "config/README.md: robot_type_id: yam.bimanual-joint-position.v1",
      OWN_TYPE,
      "systemd/README.md: # /etc/robot-policy-agent/robot-manifest.yaml",
      "src/manifest/SPECIFICATION.md: robot_type_id: yam.bimanual-joint-position.v1",
      "src/manifest/SPECIFICATION.md: schema: robot-manifest/v1",
    ],
    async run(...manifests) {
      for (const block of manifests) expect((await readManifest(bytesOf(block))).findings, block.place).toEqual([]);
    },
  },
  {
    what: "a robot of your own type → its contract is shown, and compared with the registered one",
    blocks: [OWN_TYPE, "config/README.md: robot-policy-agent contract"],
    async run(manifest, contract) {
      await using site = await openOperatorSite();
      await using robot = await createRobot({ service_url: site.service.url, key: site.service.key });
      await writeFile(robot.manifestPath, manifest.text.replace(/\[~.*\]/, `[${robot.paths[0]}]`));
      expect(await robot.run(["--setup"])).toMatchObject({ code: 0 });
      const [show, diff] = commandsOf(contract).map(plainCommand);
      expect((await robot.run(show?.slice(1) ?? [])).stdout).toContain("shoulder");
      expect(await robot.run(diff?.slice(1) ?? [])).toMatchObject({ code: 0, stderr: "" });
    },
  },
  {
    what: "the schema for editors → a JSON Schema",
    blocks: ["config/README.md: robot-policy-agent schema manifest > robot-manifest.schema.json"],
    async run(block) {
      const { out } = await runInProcess("schema", (own) => runAgentProgram(argvOf(block), own));
      expect(JSON.parse(out)).toMatchObject({ $schema: expect.any(String), type: "object" });
    },
  },
  {
    what: "a service to try → has no robots",
    blocks: [
      "src/service/README.md: robot-policy-service serve --data ~/robot-policy --bootstrap-key-file ~/robot-policy/api-key",
      "src/service/README.md: robot-policy robots list --url http://127.0.0.1:8080 --key-file ~/robot-policy/api-key",
    ],
    async run(serve, list) {
      const home = testFolder("service");
      const here = (block: Block) => argvOf(block).map((word) => word.replace(/^~/, home));
      const service = startServiceCommand(...here(serve), "--listen", "127.0.0.1:0");
      const { url } = await listening(service, join(home, "robot-policy/api-key"));
      const { out, err } = await runOperator(
        { environment: { HOME: home } },
        here(list).map((word) => word.replace("http://127.0.0.1:8080", url)),
      );
      expect(out + err).toBe(answerOf(list));
    },
  },
  {
    what: "an authority of your own → a certificate for the name and the address (needs openssl)",
    needs: "openssl",
    blocks: [
      "src/service/README.md: openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650",
      "src/service/README.md: openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj '/CN=policy.example.com' -keyout key.pem -out request.pem",
    ],
    async run(authority, certificate) {
      const folder = testFolder("authority");
      await shell(folder, authority);
      await shell(folder, certificate);
      for (const name of ["-verify_hostname policy.example.com", "-verify_ip 192.0.2.10"]) {
        const verify = { text: `openssl verify -CAfile ca.pem -purpose sslserver ${name} cert.pem` };
        expect(await shell(folder, verify)).toBe("cert.pem: OK\n");
      }
    },
  },
  {
    what: "an operator's commands → read, or show their request",
    blocks: [
      "src/operator/README.md: robot-policy login --url https://policy.example.com",
      "src/operator/README.md: robot-policy robots pending",
    ],
    async run(...blocks) {
      await using site = await openOperatorSite();
      const enrolling = openEnrolling(site);
      await enrolling.enroll("arm-7");
      await site.register("arm-8");
      await site.register("cell-4", { site: "plant-1", labels: { line: "4" } });
      await site.register("cell-7");
      await site.run("fleets", "create", "--name", "packing", "--model", "pi0.5", "--robot", "cell-4", "--peak", "1");
      await site.run("fleets", "update-model", "packing", "dead-vla");
      await site.run("webhooks", "create", "https://hooks.example.com/robots", "--event", "robot.offline");
      await site.run("keys", "create", "cell 4", "--scope", "robots:setup");
      const { code } = await enrolling.start("arm-9");
      const { computer } = await enrolling.start("arm-10");
      await writeFile(join(site.home, "batch-7.txt"), `${computer.publicKey}\n`);
      const commands = blocks.flatMap(commandsOf).filter(([program]) => program === "robot-policy");
      expect(commands.length).toBeGreaterThan(20);
      for (const [, ...argv] of commands) {
        const line = argv.join(" ");
        // Needs a browser; the same is run with a terminal in test/integration/operator/login.test.ts.
        if (line.startsWith("login")) continue;
        const words = argv
          .filter((word) => word !== "--wait")
          .map((word) => word.replace("WXYZ-2345", code).replace("batch-7.txt", join(site.home, "batch-7.txt")));
        const input = '{"selector": {"site": "plant-1"}}';
        const ran = await site.runWith({ input }, ...words, ...(canDryRun(line) ? ["--dry-run"] : []));
        expect(ran, line).toMatchObject({ exitCode: 0 });
      }
    },
  },
];

let blocks: ReadonlyMap<string, Block>;
beforeAll(async () => {
  blocks = await namedBlocks();
});

test("every block of every page → run here, run by another test, or listed with a reason", () => {
  const lists = [RUNS.flatMap((run) => run.blocks), Object.keys(RUN_ELSEWHERE), Object.keys(NOT_RUN)];
  expect([...new Set(lists.flat())].toSorted()).toEqual([...blocks.keys()].toSorted());
});

test.each(Object.entries(RUN_ELSEWHERE))("%s → %s takes it from the page", async (name, path) => {
  const { text } = await readPage(path);
  expect(text).toContain(name);
  expect(text).toContain("pageBlock(");
});

for (const { what, needs, blocks: names, run } of RUNS) {
  test.skipIf(needs !== undefined && !hasProgram(needs))(what, () => run(...names.map((name) => blocks.get(name)!)));
}

/** What the page shows as the answer. */
function answerOf(block: Block): string {
  return block.text.replaceAll(/^\$ .*\n/gm, "");
}

/** The first word of each line, which labels it. */
function firstWords(text: string): readonly string[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => line.split(" ")[0] ?? "");
}

async function shell(folder: string, { text }: Pick<Block, "text">): Promise<string> {
  return (await execute(["sh", "-ec", `cd '${folder}'\n${text}`])).stdout;
}

function canDryRun(line: string): boolean {
  const row = operatorProgram.commands.find(({ name }) => line === name || line.startsWith(`${name} `));
  return row?.flags?.some(({ flag }) => flag === "--dry-run") === true;
}
