import { regionProblem } from "./answer-problems.ts";

/** The regions to choose from, one line each. */
export function regionLines(regions: readonly string[]): readonly string[] {
  return regions.map((region, index) => `${String(index + 1).padStart(3)}  ${region}`);
}

/** The region for an answer: by number, or by a code, which need not be in the list. */
export function regionOf(answer: string, regions: readonly string[]): string {
  if (regions.includes(answer) || !isNumber(answer)) return answer;
  return regions[Number(answer) - 1] ?? answer;
}

export function listedRegionProblem(answer: string, regions: readonly string[]): string | null {
  const region = regionOf(answer, regions);
  if (regions.includes(region)) return null;
  return isNumber(region) ? `There is no number ${region}: 1 to ${regions.length}.` : regionProblem(region);
}

function isNumber(text: string): boolean {
  return /^\d+$/.test(text);
}
