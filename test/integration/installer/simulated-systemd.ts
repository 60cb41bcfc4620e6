import { existsSync, lstatSync } from "node:fs";
import { appendFile, mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { type ProgramResult, type RunProgram, systemPrograms } from "../../../src/platform/programs.ts";

const UNIT_FOLDERS = ["etc/systemd/system", "usr/local/lib/systemd/system"];

/** Simulates the effects of systemctl, systemd-sysusers and userdel that the installer observes. */
export interface SimulatedSystemd {
  readonly runProgram: RunProgram;
  /** Commands that change something, in order. */
  readonly done: string[];
  /** Running units, with the program that `current` pointed to at their start. */
  readonly running: Map<string, string>;
  /** The error of each command that fails, by command. */
  readonly refusals: Map<string, string>;
}

export async function simulateSystemd(root: string): Promise<SimulatedSystemd> {
  await mkdir(join(root, "run/systemd/system"), { recursive: true });
  const done: string[] = [];
  const running = new Map<string, string>();
  const refusals = new Map<string, string>();
  const wantsOf = (unit: string) =>
    join(root, `etc/systemd/system/${unit.endsWith(".timer") ? "timers" : "multi-user"}.target.wants`);
  const ok = (stdout = "") => ({ kind: "ended", exitCode: 0, stdout, stderr: "" }) as const;
  const failed = (stderr: string, exitCode = 1): ProgramResult => ({ kind: "ended", exitCode, stdout: "", stderr });

  const fileOf = (unit: string) =>
    UNIT_FOLDERS.map((folder) => join(root, folder, unit)).find((path) => existsSync(path));

  async function show(unit: string): Promise<Extract<ProgramResult, { readonly kind: "ended" }>> {
    const file = fileOf(unit);
    const isMasked = file !== undefined && (await readFile(file)).byteLength === 0;
    const isEnabled = lstatSync(join(wantsOf(unit), unit), { throwIfNoEntry: false }) !== undefined;
    const loadState = file === undefined ? "not-found" : isMasked ? "masked" : "loaded";
    const fileState = file === undefined ? "" : isMasked ? "masked" : isEnabled ? "enabled" : "disabled";
    const activeState = running.has(unit) ? "active" : "inactive";
    const edits = await readFile(join(root, `etc/systemd/system/${unit}.d/50-grant.conf`), "utf8").catch(() => "");
    const [user = ""] = /^User=.*$/m.exec(edits) ?? [];
    return ok(`LoadState=${loadState}\nActiveState=${activeState}\nUnitFileState=${fileState}\n${user}\n`);
  }

  async function systemctl([verb = "", unit = ""]: readonly string[]): Promise<ProgramResult> {
    if (verb === "show") return show(unit);
    if (verb === "is-enabled") return ok(/^UnitFileState=(.*)$/m.exec((await show(unit)).stdout)?.[1]);
    done.push([verb, unit].join(" ").trim());
    const refusal = refusals.get(done.at(-1) ?? "");
    if (refusal !== undefined) return failed(refusal);
    const file = fileOf(unit);
    if (verb !== "daemon-reload" && file === undefined) return failed(`Unit ${unit} not found.`, 5);
    switch (verb) {
      case "enable":
        await mkdir(wantsOf(unit), { recursive: true });
        await symlink(join("/usr/local/lib/systemd/system", unit), join(wantsOf(unit), unit));
        return ok();
      case "disable":
        await rm(join(wantsOf(unit), unit), { force: true });
        return ok();
      case "start":
      case "restart":
        // A look is over at once.
        if (unit.includes("-look")) return ok();
        // The condition of the service.
        if (unit.endsWith(".service") && !existsSync(join(root, "etc/robot-policy-agent/config.yaml"))) return ok();
        running.set(unit, await readFile(join(root, "usr/local/lib/robot-policy-agent/current/lib/yaml.cjs"), "utf8"));
        return ok();
      case "stop":
        running.delete(unit);
        return ok();
    }
    return ok();
  }

  const simulated: SimulatedSystemd = {
    done,
    running,
    refusals,
    async runProgram([program = "", ...args], options) {
      switch (program) {
        case "systemctl":
          return systemctl(args.filter((argument) => !argument.startsWith("--")));
        case "systemd-sysusers":
          done.push(program);
          await appendFile(join(root, "etc/passwd"), "robot-policy-agent:x:990:990::/nonexistent:/usr/sbin/nologin\n");
          return ok();
        case "userdel": {
          done.push(program);
          const passwd = join(root, "etc/passwd");
          await writeFile(passwd, (await readFile(passwd, "utf8")).replace(/^robot-policy-agent:.*\n/m, ""));
          return ok();
        }
        case "groupdel":
          return failed("groupdel: group 'robot-policy-agent' does not exist", 6);
        case "getent": {
          const passwd = await readFile(join(root, "etc/passwd"), "utf8");
          const line = passwd.split("\n").find((each) => each.startsWith(`${args.at(-1)}:`));
          return line === undefined ? failed("", 2) : ok(`${line}\n`);
        }
        case "rm":
        case "chroot":
          return systemPrograms([program, ...args], options);
      }
      return failed(`simulated: ${program}`);
    },
  };
  return simulated;
}
