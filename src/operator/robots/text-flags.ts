import { ROBOT_TEXT_NAMES, type RobotTextName } from "../../api/robot-texts.ts";

interface TextFlagRow {
  readonly flag: `--${string}`;
  readonly clearFlag: `--clear-${string}`;
  /** The same, as members of the parsed flags. */
  readonly given: string;
  readonly clear: string;
}

/** The flags of `robots setup` for the optional texts of a registration. */
export const TEXT_FLAGS = {
  site: { flag: "--site", clearFlag: "--clear-site", given: "site", clear: "clearSite" },
} as const satisfies Readonly<Record<RobotTextName, TextFlagRow>>;

type Row = (typeof TEXT_FLAGS)[RobotTextName];

/** A text, and whether a registered robot loses the one it has, which it would keep otherwise. */
export type TextFlags = Readonly<Partial<Record<Row["given"], string> & Record<Row["clear"], boolean>>>;

/** The texts that a registered robot loses. */
export function clearedTexts(flags: TextFlags): readonly RobotTextName[] {
  return ROBOT_TEXT_NAMES.filter((name) => flags[TEXT_FLAGS[name].clear] === true);
}
