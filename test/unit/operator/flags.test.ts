/** A flag is declared once: its value, its row, its place in the body, and what is said of it. */
import { expect, test } from "vitest";

import { bodyOf, flagPlaces } from "../../../src/operator/body.ts";
import { choice, flagRows, labels, onOff, readFlags, text, wholeNumber, wordsOf } from "../../../src/operator/flags.ts";

const DECLARED = {
  name: text("<name>", "its name", { place: "name" }),
  type: text("<type>", "its type", { place: "selection.selector.robot_type_id" }),
  label: labels("a label", { place: "selection.selector.labels" }),
  peak: wholeNumber("<number>", "how many", { minimum: 1, maximum: 10 }, { place: "peak_active_robots" }),
  mode: choice("<mode>", "when", ["always", "never"], "mode"),
  event: wordsOf("<type>", "what", ["robot.frozen", "robot.offline"], "a type of events"),
  noAnswer: onOff("ask nothing"),
  browser: onOff("open none", { negated: true }),
};

test("flagRows: the rows of parser, help and completion", () => {
  expect(flagRows(DECLARED).map(({ flag }) => flag)).toEqual([
    "--name <name>",
    "--type <type>",
    "--label <name=value>",
    "--peak <number>",
    "--mode <mode>",
    "--event <type>",
    "--no-answer",
    "--no-browser",
  ]);
  expect(flagRows({ mode: DECLARED.mode })[0]).toEqual({
    flag: "--mode <mode>",
    summary: "when",
    choices: ["always", "never"],
  });
});

test("bodyOf: given flags → their places in the body", () => {
  const read = readFlags(DECLARED, { name: "a", type: "t", label: ["line=4", "x=a=b"], peak: "7", noAnswer: true });
  if ("code" in read) throw new Error(read.what);
  expect(bodyOf(DECLARED, read.own)).toEqual({
    name: "a",
    selection: { selector: { robot_type_id: "t", labels: { line: "4", x: "a=b" } } },
    peak_active_robots: 7,
  });
});

test.each([
  [{ peak: "11" }, "--peak '11' is not a number from 1 to 10"],
  [{ peak: "1.5" }, "--peak '1.5' is not a number from 1 to 10"],
  [{ label: ["line"] }, "--label 'line' is not name=value"],
  [{ label: ["a=1", "a=2"] }, "--label 'a' is given twice"],
  [{ event: ["robot.frosen"] }, "--event 'robot.frosen' is not a type of events"],
  [{ timeout: "1.5h" }, "--timeout '1.5h' is not a duration"],
])("readFlags: %j → %s", (given, what) => {
  expect(readFlags(DECLARED, given)).toMatchObject({ code: "usage", what });
});

test("readFlags: mistyped word → the word that was meant", () => {
  expect(readFlags(DECLARED, { event: ["robot.frosen"] })).toMatchObject({ fix: "did you mean robot.frozen?" });
});

test("flagPlaces: place of a finding → the flag of the nearest member around it", () => {
  const places = flagPlaces(DECLARED, { subject: "MODEL" });
  expect(
    [
      ["body", "selection", "selector", "labels", "line"],
      ["body", "peak_active_robots"],
      ["body", "subject"],
      ["body", "selection"],
    ].map(places),
  ).toEqual(["--label", "--peak", "MODEL", null]);
});
