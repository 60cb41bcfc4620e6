/** What detection found, in the lines that `init` prints. */
import type { Answers } from "../answers.ts";
import type { Detection } from "./detect.ts";
import { isSure, type ProposedDevice } from "./devices.ts";
import type { Candidate, LeftOut } from "./detection.ts";

/** Of what is not proposed; the rest is counted. */
const SHOWN = 12;

export function proposalLines(detection: Detection): readonly string[] {
  const { candidates, questions, looked, skipped } = detection;
  const places = looked.length === 0 ? ["no home: whose robot is it?"] : looked;
  return [
    ...(candidates.length === 0 ? ["No files of a robot were found. Looked in:", ...some(places)] : []),
    ...candidates.flatMap(candidateLines),
    ...(questions.length === 0 ? [] : ["To decide:", ...questions.map((question) => `  ${question}`)]),
    ...deviceLines(detection),
    ...notes("Not looked at:", skipped),
  ];
}

/** None where nothing is plugged in. */
function deviceLines({ devices, leftOutDevices }: Detection): readonly string[] {
  if (devices.length === 0) return [];
  const lineOf = ({ entry, reason, question }: ProposedDevice) =>
    `  ${entry}  ${question === null ? reason : `${reason}; ${question}`}`;
  const [sure, doubtful] = [devices.filter(isSure), devices.filter((each) => !isSure(each))];
  return [
    ...(sure.length === 0 ? [] : ["Devices of the robot:", ...sure.map(lineOf)]),
    ...(doubtful.length === 0 ? [] : ["Devices to decide about:", ...doubtful.map(lineOf)]),
    ...notes("Devices left out:", leftOutDevices),
  ];
}

function candidateLines({ robot, type, differs, reason, files, leftOut, advice }: Candidate): readonly string[] {
  const ofType = type === null ? "no type of the catalog" : differs === null ? type : `near ${type}: ${differs}`;
  return [
    `Found ${robot} (${ofType}), by ${reason}`,
    ...files.map(({ path, label, modifiedMs }) => `  ${path}  ${label}, of ${isoDate(modifiedMs)}`),
    ...notes("Left out:", leftOut),
    ...(advice === null ? [] : [`Note: ${advice}`]),
  ];
}

function notes(title: string, list: readonly LeftOut[]): readonly string[] {
  return list.length === 0 ? [] : [title, ...some(list.map(({ path, reason }) => `${path}  ${reason}`))];
}

function some(lines: readonly string[]): readonly string[] {
  const more = lines.length - SHOWN;
  return [...lines.slice(0, SHOWN).map((line) => `  ${line}`), ...(more > 0 ? [`  and ${more} more`] : [])];
}

/** Files of a broken clock are of any time. */
function isoDate(timeMs: number): string {
  return Number.isFinite(new Date(timeMs).valueOf()) ? new Date(timeMs).toISOString().slice(0, 10) : "no known day";
}

/** What a candidate answers. Its type is left open where it is only near to one: what the type says of limits would be wrong. */
export function adopt(answers: Answers, { type, differs, unit, files, ranges }: Candidate): Answers {
  return {
    ...answers,
    type: answers.type ?? (differs === null ? type : null),
    unit: answers.unit ?? unit,
    files: answers.files.length > 0 ? answers.files : files.map(({ path }) => path),
    ranges,
  };
}
