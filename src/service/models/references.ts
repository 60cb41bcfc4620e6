/** Looks up what checkpoints were trained on when a catalog is applied, so that nothing is looked up when robots are judged. */
import type { Finding } from "../../documents/findings.ts";
import { shown } from "../../documents/texts.ts";
import type { Reader } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import {
  catalogEquipment,
  contractEquipment,
  type Equipment,
  findReference,
  type FoundReference,
  knownEquipment,
} from "../robots/index.ts";
import { type CatalogFile, placedFinding, type PlacedRefusal, trainedCheckpoints, type TrainedOn } from "./catalog.ts";
import { parseRequirements, type Reference, type Training } from "./requirements.ts";

type StoredCheckpoint = Pick<Tables["checkpoints"], "id" | "requirements">;

interface Resolved {
  /** By id of the checkpoint. */
  readonly trainings: ReadonlyMap<string, Training>;
  readonly findings: readonly Finding[];
}

/**
 * A registration that is not kept any more stays as the checkpoint has it: a catalog that was applied once can be applied again.
 *
 * @param stored what checkpoints have so far.
 */
export async function resolveTrainings(
  reader: Reader,
  { catalog, contracts, locate }: CatalogFile,
  stored: readonly StoredCheckpoint[],
): Promise<Resolved> {
  const trainings = new Map<string, Training>();
  const findings: Finding[] = [];
  for (const { id, training, loc } of trainedCheckpoints(catalog)) {
    const { tolerances, require, warn } = training;
    const before = stored.filter((row) => row.id === id).flatMap(referencesOf);
    const robots: Reference[] = [];
    for (const [index, robot] of training.robots.entries()) {
      const found = await resolveRobot(reader, robot, before);
      if ("kind" in found) robots.push(found);
      else findings.push(placedFinding({ ...found, loc: `${loc}/robots/${index}/${found.loc}` }, locate));
    }
    const files = training.contracts.flatMap((path) => {
      const contract = contracts.get(path);
      return contract === undefined ? [] : [unregistered("contract", path, contractEquipment(contract))];
    });
    const types = training.types.map((name) => unregistered("type", name, catalogEquipment(name)));
    trainings.set(id, { references: [...robots, ...files, ...types], tolerances, require, warn });
  }
  return { trainings, findings };
}

function unregistered(kind: "contract" | "type", name: string, equipment: Equipment): Reference {
  return { kind, name, digest: null, robot_id: null, equipment };
}

function referencesOf({ requirements }: StoredCheckpoint): readonly Reference[] {
  return parseRequirements(requirements).trained_on?.references ?? [];
}

/** Ids of the robots that a checkpoint was trained on. */
export function referenceRobots(checkpoint: StoredCheckpoint): readonly string[] {
  return referencesOf(checkpoint).flatMap(({ robot_id: id }) => id ?? []);
}

/** @returns a refusal with a `loc` below the robot. */
async function resolveRobot(
  reader: Reader,
  { robot, digest }: TrainedOn["robots"][number],
  before: readonly Reference[],
): Promise<Reference | PlacedRefusal> {
  const found = await findReference(reader, robot, digest);
  if (found.state !== "found") {
    const kept = before.find((each) => each.kind === "robot" && each.name === robot && each.digest === digest);
    return kept ?? refusalOf(robot, found);
  }
  const equipment = knownEquipment(found.robot_type_id, found.equipment);
  return { kind: "robot", name: robot, digest, robot_id: found.robot_id, equipment };
}

function refusalOf(robot: string, found: Exclude<FoundReference, { state: "found" }>): PlacedRefusal {
  switch (found.state) {
    case "no_robot": {
      const message = `no robot is called ${shown(robot)}, or has this id; robot-policy robots list shows both`;
      return { id: "unknown_robot", loc: "robot", message };
    }
    case "no_registration": {
      const message = `no registration of ${shown(robot)} with this digest is kept; robot-policy robots history ${shown(robot)} lists those that are`;
      return { id: "unknown_registration", loc: "digest", message };
    }
    case "no_contract": {
      const message =
        "the contract of this registration is not kept any more; list under contracts a file with it, as robot-policy-agent contract --json prints it";
      return { id: "unknown_registration", loc: "digest", message };
    }
    case "ambiguous": {
      const message = `robots of several organizations are called ${shown(robot)} and have this digest; write the id: ${found.robotIds.join(", ")}`;
      return { id: "ambiguous_robot", loc: "robot", message };
    }
  }
}
