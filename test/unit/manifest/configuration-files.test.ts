import { describe, expect, test } from "vitest";

import { readManifest } from "../../../src/manifest/manifest.ts";

/** Findings and files of a manifest with this list, in YAML. */
async function read(list: string) {
  const text = `robot_type_id: yam.bimanual-joint-position.v1\nconfiguration_files: ${list}\n`;
  const { findings, value: manifest } = await readManifest(Buffer.from(text));
  return {
    findings: findings.map(({ id, loc }) => `${id} ${loc}`),
    messages: findings.map(({ message }) => message),
    files: manifest?.configuration_files,
  };
}

const pathsOf = (count: number) => Array.from({ length: count }, (_, index) => `/etc/arm/${count - index}.yaml`);

describe("configuration_files", () => {
  test("64 files → accepted, in order", async () => {
    const { findings, files } = await read(JSON.stringify(pathsOf(64)));
    expect(findings).toEqual([]);
    expect(files?.map(({ path }) => path)).toEqual(pathsOf(64));
  });

  test("65 files → refused", async () => {
    expect(await read(JSON.stringify(pathsOf(65)))).toMatchObject({
      findings: ["list_length /configuration_files"],
      files: undefined,
    });
  });

  test("empty list → warning that the digest covers nothing", async () => {
    expect(await read("[]")).toMatchObject({ findings: ["no_config_files /configuration_files"], files: [] });
  });

  test("entries → a path, or a label and a path", async () => {
    const { findings, files } = await read(
      "[/etc/left.yaml, {label: right, path: ~/right.yaml}, {path: /etc/base.yaml}]",
    );
    expect(findings).toEqual([]);
    expect(files).toEqual([
      { label: "/etc/left.yaml", path: "/etc/left.yaml", loc: "/configuration_files/0" },
      { label: "right", path: "~/right.yaml", loc: "/configuration_files/1/path" },
      { label: "/etc/base.yaml", path: "/etc/base.yaml", loc: "/configuration_files/2/path" },
    ]);
  });

  test("devices and interfaces → what they are counts, by serial number or port", async () => {
    const { findings, files } = await read(
      "[{label: front, device: /dev//cam_front}, {device: /dev/ttyDXL, by: port}, {interface: can0, by: serial}]",
    );
    expect(findings).toEqual([]);
    const [front, arm, bus] = files ?? [];
    expect([front, arm, bus]).toEqual([
      {
        label: "front",
        path: "/dev/cam_front",
        loc: "/configuration_files/0/device",
        hardware: { request: { device: "/dev/cam_front" }, by: "serial" },
      },
      {
        label: "/dev/ttyDXL",
        path: "/dev/ttyDXL",
        loc: "/configuration_files/1/device",
        hardware: { request: { device: "/dev/ttyDXL" }, by: "port" },
      },
      {
        label: "can0",
        path: "/sys/class/net/can0",
        loc: "/configuration_files/2/interface",
        hardware: { request: { interface: "can0" }, by: "serial" },
      },
    ]);
  });

  test("share → of an entry with a path, also a pattern; false is as none", async () => {
    const { findings, files } = await read(
      "[{path: /a.yaml, share: true}, {path: /b*.yaml, share: true}, {path: /c.yaml, share: false}, /d.yaml]",
    );
    expect(findings).toEqual([]);
    expect(files?.map(({ share }) => share)).toEqual([true, true, undefined, undefined]);
  });

  test.each([
    ["[{device: /dev/video0, share: true}]", ["not_allowed /configuration_files/0/share"]],
    ["[{interface: can0, share: false}]", ["not_allowed /configuration_files/0/share"]],
    ["[{path: /a.yaml, share: yes}]", ["wrong_type /configuration_files/0/share"]],
    ["[{device: /dev/video0, interface: can0}]", ["not_allowed /configuration_files/0/interface"]],
    ["[{path: /etc/a, by: port}]", ["not_allowed /configuration_files/0/by"]],
    ["[{device: video0}]", ["config_path /configuration_files/0/device"]],
    ["[{device: /dev/video*}]", ["config_path /configuration_files/0/device"]],
    ["[{device: /dev/../etc/a}]", ["config_path /configuration_files/0/device"]],
    ["[{device: /dev/a, by: usb}]", ["not_allowed /configuration_files/0/by"]],
    ["[{device: /dev/a}, {device: /dev/./a}]", ["config_duplicate /configuration_files/1/device"]],
    ["[{interface: can0/..}]", ["interface_name /configuration_files/0/interface"]],
    ["[{interface: ..}]", ["interface_name /configuration_files/0/interface"]],
    ["[{interface: sixteencharacter}]", ["interface_name /configuration_files/0/interface"]],
    ["[{interface: can0}, {interface: can0}]", ["config_duplicate /configuration_files/1/interface"]],
    ["[/dev/video0]", ["config_path /configuration_files/0"]],
    [`[{label: ${"x".repeat(128)}, path: /etc/a.yaml}]`, []],
    [`[{label: ${"x".repeat(129)}, path: /etc/a.yaml}]`, ["text_format /configuration_files/0/label"]],
    ["[/etc/a.yaml, /etc/b.yaml, /etc//a.yaml]", ["config_duplicate /configuration_files/2"]],
    ["[{label: a, path: /etc/a.yaml}, {label: a, path: /etc/b.yaml}]", ["duplicate_name /configuration_files/1/label"]],
    ["[{label: /etc/b.yaml, path: /etc/a.yaml}, /etc/b.yaml]", []],
    ["[etc/a.yaml]", ["config_path /configuration_files/0"]],
    ["[[/etc/a.yaml]]", ["wrong_type /configuration_files/0"]],
    ["[{label: a}]", ["missing /configuration_files/0/path"]],
    ["/etc/a.yaml", ["wrong_type /configuration_files"]],
  ])("%s → %j", async (list, findings) => {
    const found = await read(list);
    expect(found.findings).toEqual(findings);
    expect(found.files === undefined).toBe(findings.length > 0);
  });

  test("a file deep in a home → named to its end", async () => {
    const path = `/home/${"x".repeat(100)}/.cache/huggingface/lerobot/calibration/robots/so_follower/left.json`;
    expect((await read(`[${path}, ${path}]`)).messages).toEqual([`${path} is already listed`]);
    expect((await read(`[${path}.log]`)).messages).toEqual([
      `${path}.log is a log; it should not be part of the digest`,
    ]);
  });

  test.each([
    ["\n  - /etc/a.yaml\n  - /etc/./a.yaml", "/etc/./a.yaml is already listed"],
    ["\n  - {label: a, path: /etc/a.yaml}\n  - {label: a, path: /etc/b.yaml}", "a is already used"],
    ["[/etc/a/]", "/etc/a/: a folder, not a file; write /etc/a/* for all files in it"],
    ["[/dev/video0]", "/dev/video0: a device; write {device: /dev/video0}"],
    ["[{label: a}]", "path is required, or device or interface"],
    ["[[/etc/a.yaml]]", "expected a path or {label, path}, found a list"],
    ["/etc/a.yaml", "expected a list, found a text"],
  ])("%j → %s", async (list, message) => {
    expect((await read(list)).messages).toEqual([message]);
  });
});
