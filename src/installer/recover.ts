import type { Site } from "./apply.ts";
import type { InstallerProblem } from "./installer.ts";
import { refusal } from "./installer.ts";
import { readJournal, removeJournal } from "./journal.ts";
import { JOURNAL_FILE } from "./layout.ts";
import { takeBack } from "./undo.ts";

/** What was found of an installation that was cut short. */
export interface Recovered {
  readonly kind: "recovered";
  /** Its version, when there was one; it is put back by now unless this is a dry run. */
  readonly interrupted: string | null;
}

/** Puts back what an interrupted installation changed, before anybody looks around. */
export async function recover({ disk, system }: Site, is_dry: boolean): Promise<Recovered | InstallerProblem> {
  const journal = await readJournal(disk);
  if (journal === null) {
    if (!is_dry) await removeJournal(disk);
    return { kind: "recovered", interrupted: null };
  }
  if (journal === "unreadable") {
    return refusal({
      code: "foreign-journal",
      what: "an installation was interrupted, and another version than this wrote down how to put it back",
      where: JOURNAL_FILE,
      fix: "run install of that version once more, or remove the file to go on from what is there",
    });
  }
  const interrupted = journal.phase === "applying" ? journal.version : null;
  if (is_dry) return { kind: "recovered", interrupted };
  const remains = await takeBack(journal, disk, system);
  if (remains.length === 0) return { kind: "recovered", interrupted };
  return refusal({
    code: "not-put-back",
    what: `an installation was interrupted, and cannot be put back: ${remains.join("; ")}`,
    fix: "mend that and run it again",
  });
}
