/** Devices that cannot be told apart, or only by the port that they hang on. */
import { type By, type Facts, hardwareLine } from "./hardware.ts";

/** A device that is present, and how people call it: its path, or the name of the interface. */
export interface Named {
  readonly name: string;
  readonly facts: Facts;
}

/** An entry of the manifest whose device is present. */
export interface Entry extends Named {
  readonly by: By;
}

export interface TwinFinding {
  /**
   * `shared-serial`: the first would be taken for the others, so its entry has to say `by: port`.
   * `indistinguishable`: when these entries are exchanged at their ports nothing shows it.
   */
  readonly kind: "shared-serial" | "indistinguishable";
  readonly names: readonly string[];
  readonly message: string;
}

/**
 * @param entries of the manifest.
 * @param present everything that `list.ts` found, listed in the manifest or not.
 */
export function findTwins(entries: readonly Entry[], present: readonly Named[]): readonly TwinFinding[] {
  return [...entries.flatMap((entry) => sharedSerial(entry, [...entries, ...present])), ...indistinguishable(entries)];
}

/** The others that have the same vendor, product and serial number, or none. Nodes of one device are not twins. */
export function twinsOf<Other extends Pick<Named, "facts">>(
  { facts }: Pick<Named, "facts">,
  others: readonly Other[],
): readonly Other[] {
  return others.filter(({ facts: other }) => other.port !== facts.port && kindOf(other) === kindOf(facts));
}

function sharedSerial(entry: Entry, others: readonly Named[]): readonly TwinFinding[] {
  if (entry.by === "port" || entry.facts.serial === undefined) return [];
  const twins = [...new Set(twinsOf(entry, others).map(({ name }) => name))];
  if (twins.length === 0) return [];
  const message = `${entry.name} shares vendor, product and serial number with ${twins.join(", ")}; write by: port`;
  return [{ kind: "shared-serial", names: [entry.name, ...twins], message }];
}

/** Groups of entries that differ by nothing but the port. */
function indistinguishable(entries: readonly Entry[]): readonly TwinFinding[] {
  const byPort = entries.filter(({ by, facts }) => by === "port" || facts.serial === undefined);
  const groups = [...Map.groupBy(byPort, ({ facts }) => kindOf(facts)).values()];
  return groups.flatMap((group) => {
    if (new Set(group.map(({ facts }) => facts.port)).size < 2) return [];
    const names = group.map(({ name }) => name);
    const what = `${names.join(" and ")} cannot be told apart if they are exchanged at their ports`;
    const message = `${what}; mark cables and ports, or use devices with serial numbers`;
    return [{ kind: "indistinguishable" as const, names, message }];
  });
}

/** What a device is, wherever it hangs. */
function kindOf(facts: Facts): string {
  return hardwareLine({ ...facts, serial: facts.serial ?? "" }, "serial");
}
