import { posix } from "node:path";

import type { Curiosity } from "./claims/curiosity.ts";
import type { Durability } from "./claims/durability.ts";
import type { Patience } from "./claims/patience.ts";
import { createEditors, shrugging } from "./editors.ts";
import {
  AGENT_USER,
  ALL_FILES,
  BUNDLE,
  type ConfigurationChoices,
  configurationText,
  contentOf,
  FILE_LISTS,
  FILE_VERSIONS,
  FILES,
  HOSTNAME,
  manifestText,
  PLACES,
  put,
  TABLES,
} from "./machine/robot-files.ts";
import { simulatedMinutes } from "./units.ts";
import { FAIR, throwWeather } from "./weather.ts";
import type { World } from "./world.ts";

/** Everything outside the robot that disturbs it: people, the network, the power supply. */
export interface Actors {
  /** Starts random actions. Not called for a robot in a shared world, whose plan calls `act`. */
  begin(): void;
  /** Performs one random action. */
  act(): void;
  /** Writes the robot's current key to its file. */
  placeKey(): void;
  /** Ends all disturbances and stops acting. */
  retire(): void;
}

export interface ActorOptions {
  readonly patience: Patience;
  readonly durability: Durability;
  readonly curiosity: Curiosity;
  /** In a shared world the plan decides about the service and about the times of all actions. */
  readonly isOneOfMany?: boolean;
}

const OTHER_NAME = "somebody-else";
const CALM_MS = 6000;
const BUSY_MS = 400;
/** Manifests and configurations are written almost at once: a truncated one may be valid. */
const DOCUMENT_PAUSE_MS = 100;
const LOCAL_CONFIGURATIONS: readonly ConfigurationChoices[] = [{}, { site: "hall-2" }, { line: "2" }, { line: "3" }];
const ELSEWHERE: ConfigurationChoices = { url: "https://policy.example/prefix" };
const GOOD_MANIFESTS: readonly string[] = FILE_LISTS.map((list) => manifestText(list));
const TEN_YEARS_MS = 10 * 365 * 24 * 3_600_000;

export function createActors(
  world: World,
  { patience, durability, curiosity, isOneOfMany = false }: ActorOptions,
): Actors {
  const { disk, scheduler, wall, service, network, disk_trouble: diskTrouble, event_trouble: eventTrouble } = world;
  const dice = world.dice.fork();
  const { isEnrolled } = world;
  const goodConfigurations = [...LOCAL_CONFIGURATIONS, ...(isOneOfMany ? [] : [ELSEWHERE])].map((choices) =>
    configurationText({ ...choices, isEnrolled }),
  );
  const editors = createEditors(world);
  let active = false;
  let busyUntilMs = 0;
  let keysMade = 1;

  function later(delayMs: number, label: string, act: () => void): void {
    scheduler.after(delayMs, null, label, () => {
      if (active) shrugging(act);
    });
  }

  function during(durationMs: number, what: string, begin: () => void, end: () => void): void {
    world.disturb(`${what} for ${(durationMs / 1000).toFixed(1)} s`);
    begin();
    later(durationMs, `${what} ends`, () => {
      world.disturb(`no more ${what}`);
      end();
    });
  }

  function changeDocument(path: string, text: string): void {
    editors.write(
      path,
      text,
      dice.pick(["in place in three pieces", "by rename", "by rename with an older time"]),
      DOCUMENT_PAUSE_MS,
    );
  }

  /** Renames the robot, but only when the agent can know that the name changed. */
  function renameRobot(): void {
    if (world.daemon?.agent?.status().state !== "registered" || world.daemon.agent.status().state_problem !== null)
      return;
    editors.write(PLACES.configuration, configurationText({ name: OTHER_NAME, isEnrolled }), "by rename", 0);
  }

  function isRenamed(): boolean {
    return new TextDecoder().decode(disk.read(PLACES.configuration)).includes(OTHER_NAME);
  }

  /** Edits a file and soon restores its old content. */
  function editAndRevert(): void {
    const path = dice.pick([FILES.calibration, FILES.limits]);
    const before = new TextDecoder().decode(disk.read(path));
    editors.write(path, contentOf(path, 1 + dice.below(FILE_VERSIONS)), "by rename", 0);
    later(dice.pick([1500, 6000, 25_000]), `${path} is taken back`, () => editors.write(path, before, "by rename", 0));
  }

  /** The same while the service receives every request and the robot no answer. */
  function editAndRevertUnheard(): void {
    const weather = dice.pick([{ kind: "hangs", arrives: true }, { kind: "answer-lost" }] as const);
    during(
      dice.between(2000, 40_000),
      `weather ${weather.kind}`,
      () => (network.weather = () => weather),
      () => (network.weather = () => FAIR),
    );
    editAndRevert();
  }

  function rotateKey(): void {
    world.disturb("the key is rotated");
    keysMade += 1;
    world.key = `sk_sim_CANARY${String(keysMade).padStart(22, "0")}`;
    service.key = world.key;
    later(dice.pick([1, 2000, 90_000]), "the key file follows", () => placeKey(0o600));
  }

  function replaceKeyFile(): void {
    placeKey(dice.pick([0o644, 0o600]));
  }

  function placeKey(mode: number): void {
    world.disturb(`key file with mode ${mode.toString(8)}`);
    const temporary = `${PLACES.key}.tmp`;
    if (disk.exists(temporary)) disk.remove(temporary);
    put(disk, temporary, `${world.key}\n`, { mode, userId: AGENT_USER });
    disk.rename(temporary, PLACES.key);
  }

  /** Replaces a file by something that cannot be hashed, until it is mended. */
  function breakFile(): void {
    const path = dice.pick([FILES.calibration, FILES.limits]);
    if (!disk.exists(path)) return;
    const content = disk.read(path);
    const kind = dice.pick(["missing", "unreadable", "directory", "fifo", "loop"] as const);
    during(
      dice.between(200, 90_000),
      `${path} ${kind}`,
      () => {
        if (kind === "unreadable") {
          disk.setMode(path, 0o600);
          return;
        }
        disk.remove(path);
        if (kind === "directory") disk.create(path, "directory");
        if (kind === "fifo") disk.create(path, "other");
        if (kind === "loop") disk.create(path, "link", { target: posix.basename(path) });
      },
      () => mendFile(path, content),
    );
  }

  function mendFile(path: string, content: Uint8Array): void {
    if (disk.list(posix.dirname(path)).includes(posix.basename(path))) disk.remove(path);
    put(disk, path, "");
    disk.write(disk.look(path), content);
  }

  function flap(): void {
    const path = dice.pick(ALL_FILES);
    const untilMs = scheduler.nowMs + dice.between(3000, 45_000);
    const pauseMs = dice.pick([60, 350, 900]);
    const again = () => {
      editors.editFile(path);
      if (scheduler.nowMs < untilMs) later(dice.between(1, pauseMs), `${path} flaps`, again);
    };
    again();
  }

  function damageState(): void {
    // Without its state file the agent cannot know that the robot had another name.
    if (world.daemon !== null || !disk.exists(PLACES.registration) || isRenamed()) return;
    world.disturb("the state is damaged");
    const bytes = disk.read(PLACES.registration).slice(0, dice.below(3000));
    if (bytes.byteLength > 0 && dice.chance(0.5)) bytes[dice.below(bytes.byteLength)] = 63;
    disk.write(disk.look(PLACES.registration), bytes);
    disk.sync(disk.look(PLACES.registration));
    durability.forgive();
  }

  /** Changes at the service: restored backups, removed robots, and another computer with the same name. */
  function meddleWithService(): void {
    if (!service.robots.has(HOSTNAME)) return;
    const meddling = dice.pick(["backup", "restore", "remove", "usurp"] as const);
    world.disturb(`at the service: ${meddling}`);
    if (meddling === "backup") service.backUp();
    if (meddling === "restore") service.restore();
    if (meddling === "remove") service.remove(HOSTNAME);
    if (meddling === "usurp") service.usurp(HOSTNAME, wall.trueMs());
  }

  function askToConfirm(): void {
    if (world.daemon?.agent === null || world.daemon === null) return;
    world.disturb("a person asks whether the service holds it");
    curiosity.allowOne(world.daemon.process);
    void world.daemon.agent.confirm();
  }

  function changeWeather(): void {
    const fixed = throwWeather(dice, wall.trueMs());
    const changing = dice.fork();
    const weather = dice.chance(0.6) ? () => fixed : () => throwWeather(changing, wall.trueMs());
    during(
      dice.pick([300, 5000, 30_000, 200_000]),
      `weather ${fixed.kind}`,
      () => (network.weather = weather),
      () => (network.weather = () => FAIR),
    );
  }

  function loseEvents(): void {
    during(
      dice.between(500, 60_000),
      "lost events",
      () => (eventTrouble.lossRate = dice.pick([0.3, 1])),
      () => (eventTrouble.lossRate = 0),
    );
  }

  function setClock(): void {
    world.disturb("the clock is set");
    const years = dice.between(-TEN_YEARS_MS, TEN_YEARS_MS);
    wall.set(dice.pick([0, years, dice.between(-90_000, 90_000), dice.between(-900, 900)]));
  }

  function askToRegister(): void {
    if (world.daemon?.agent === null || world.daemon === null) return;
    world.disturb("a person asks to register");
    patience.allowOne(world.daemon.process);
    void world.daemon.agent.register();
  }

  type Action = readonly [weight: number, act: () => void];

  /** Ends a run of the daemon, or all of the computer. */
  const end = (weight: number, what: string, act: () => void): Action => [
    weight,
    () => {
      world.disturb(what);
      act();
    },
  ];

  /** Starts trouble with the disk or with file events that ends after a random time in the range. */
  const trouble = <T extends object>(
    [weight, what, least, most]: readonly [weight: number, what: string, least: number, most: number],
    target: T,
    begin: Partial<T>,
    calm: Partial<T>,
  ): Action => [
    weight,
    () =>
      during(
        dice.between(least, most),
        what,
        () => Object.assign(target, begin),
        () => Object.assign(target, calm),
      ),
  ];

  const allActions: readonly Action[] = [
    [14, () => editors.editFile(dice.pick(ALL_FILES))],
    [6, editAndRevert],
    [3, editAndRevertUnheard],
    [3, flap],
    [2, breakFile],
    [3, () => changeDocument(PLACES.configuration, dice.pick(goodConfigurations))],
    [1, () => changeDocument(PLACES.configuration, configurationText({ extra: "robot: twice\n", isEnrolled }))],
    [1, renameRobot],
    [3, () => changeDocument(PLACES.manifest, dice.pick(GOOD_MANIFESTS))],
    [1, () => changeDocument(PLACES.manifest, manifestText(dice.pick(FILE_LISTS), "draft"))],
    [1, () => changeDocument(PLACES.manifest, "robot_type_id: [")],
    [2, rotateKey],
    [1, replaceKeyFile],
    [6, changeWeather],
    trouble([2, "full disk", 500, 60_000], diskTrouble, { state: "full" }, { state: "none" }),
    trouble([4, "read-only disk", 500, 60_000], diskTrouble, { state: "read-only" }, { state: "none" }),
    trouble([1, "I/O errors", 100, 5000], diskTrouble, { ioErrorRate: 0.1 }, { ioErrorRate: 0 }),
    trouble([1, "slow disk", 100, 8000], diskTrouble, { latencyMs: 40 }, { latencyMs: 0.4 }),
    [2, loseEvents],
    trouble([1, "no watches left", 500, 90_000], eventTrouble, { failureRate: 0.7 }, { failureRate: 0 }),
    trouble([1, "late events", 500, 60_000], eventTrouble, { delayMs: 1500 }, { delayMs: 3 }),
    [2, setClock],
    end(4, "kill -9", () => world.kill()),
    end(3, "power cut", () => world.powerCut()),
    end(1, "SIGTERM", () => world.daemon?.agent?.stop()),
    [1, () => world.daemon?.agent?.trigger()],
    [1, askToRegister],
    [1, () => void world.daemon?.agent?.reload()],
    [1, meddleWithService],
    [1, askToConfirm],
    [2, damageState],
    [2, () => void (busyUntilMs = scheduler.nowMs + 10_000)],
  ];
  const ofOthers = new Set([
    ...(isOneOfMany ? [rotateKey, meddleWithService] : []),
    ...(isEnrolled ? [replaceKeyFile] : []),
  ]);
  const possible = allActions.filter(([, act]) => !ofOthers.has(act));
  // Each seed leaves out some kinds of actions (Groce et al., Swarm Testing, 2012).
  const actions = possible.map(([weight, act]) => [weight * dice.pick([0, 0.5, 1, 1, 4]), act] as const);
  const weights = actions.reduce((sum, [weight]) => sum + weight, 0);

  function actOnce(): void {
    let left = dice.unit() * weights;
    for (const [weight, act] of actions) {
      left -= weight;
      if (left < 0) {
        shrugging(act);
        return;
      }
    }
  }

  function actAgain(): void {
    const meanMs = scheduler.nowMs < busyUntilMs ? BUSY_MS : CALM_MS;
    later(-meanMs * Math.log(1 - dice.unit()), "an actor acts", () => {
      actOnce();
      actAgain();
    });
  }

  /** Repairs everything. */
  function mend(): void {
    editors.finish();
    network.weather = () => FAIR;
    Object.assign(diskTrouble, { state: "none", ioErrorRate: 0, latencyMs: 0.4 });
    Object.assign(eventTrouble, { lossRate: 0, failureRate: 0, delayMs: 3 });
    wall.set(0);
    for (const path of ALL_FILES) if (!isWhole(path) || dice.chance(0.2)) replace(path);
    if (disk.exists(`${TABLES}.new`)) disk.remove(`${TABLES}.new`);
    if (!isGood(PLACES.configuration, goodConfigurations) || dice.chance(0.2))
      put(disk, PLACES.configuration, dice.pick(goodConfigurations));
    if (!isGood(PLACES.manifest, GOOD_MANIFESTS) || dice.chance(0.2))
      put(disk, PLACES.manifest, dice.pick(GOOD_MANIFESTS));
    if (!isEnrolled) placeKey(0o600);
    disk.syncAll();
  }

  function isWhole(path: string): boolean {
    if (!disk.exists(path) || (disk.look(path).mode & 0o004) === 0 || disk.look(path).kind !== "file") return false;
    const text = new TextDecoder().decode(disk.read(path));
    return Array.from({ length: FILE_VERSIONS }, (_, index) => contentOf(path, index + 1)).includes(text);
  }

  function isGood(path: string, texts: readonly string[]): boolean {
    return texts.includes(new TextDecoder().decode(disk.read(path)));
  }

  function replace(path: string): void {
    const text = contentOf(path, 1 + dice.below(FILE_VERSIONS));
    const folder = path === FILES.policy ? BUNDLE : posix.dirname(path);
    if (path === FILES.policy || path === FILES.offsets) {
      if (disk.exists(folder)) disk.remove(folder);
    } else if (disk.list(folder).includes(posix.basename(path))) disk.remove(path);
    if (path !== FILES.policy) {
      put(disk, path, text);
      return;
    }
    put(disk, `${BUNDLE}/..0/policy.txt`, text);
    disk.create(`${BUNDLE}/..data`, "link", { target: "..0" });
    disk.create(FILES.policy, "link", { target: "..data/policy.txt" });
  }

  return {
    begin() {
      active = true;
      if (!isOneOfMany) actAgain();
      const timing = dice.fork();
      const malice = dice.pick([0, 0.02, 0.1, 0.4]);
      world.onOpen = (path) => {
        // Writing a file while it is read is the most dangerous moment.
        if (!active || !ALL_FILES.includes(path) || !timing.chance(malice)) return;
        later(timing.between(0, 1.5), `${path} is written while it is read`, () => editors.editFile(path));
      };
    },
    act: actOnce,
    placeKey: () => placeKey(0o600),
    retire() {
      active = false;
      world.disturb("everything is mended");
      mend();
      // Short delays are more likely than long ones.
      if (dice.chance(0.8)) scheduler.after(simulatedMinutes(1), null, "a person's request", askToConfirm);
    },
  };
}
