import { utcDay } from "../parts/relative-time.tsx";
import { counted } from "../parts/text.ts";
import { useWidth } from "../parts/use-width.ts";
import { busiestOf, type Usage, type UsageDay } from "./data.ts";
import { hours } from "./hours.ts";
import { lengthOf } from "./range.ts";

/** One bar: a day, or a week in a long range. */
interface Bucket {
  /** Its first day. */
  readonly day: string;
  readonly label: string;
  readonly seconds: number;
  readonly parts: readonly { readonly name: string; readonly seconds: number; readonly tone: number }[];
}

/** Names with their own colour; the rest is one colour, because more cannot be told apart. */
export const SERIES_SHOWN = 6;
/** More bars are too thin to point at. */
const BARS_MAXIMUM = 92;
const HEIGHTS = { wall: 320, wide: 260, medium: 220, narrow: 220, phone: 220 } as const;
const FOOT = 22;
const HEAD = 8;
/** As a fraction of the distance between bars. */
const BAR_WIDTH = 0.82;
/** Between the parts of a bar. */
const GAP = 1;
const LABELS = { wall: 14, wide: 10, medium: 8, narrow: 6, phone: 4 } as const;

/** Hours by day, stacked by robot or model. Its label is one sentence; the table below has all numbers. */
export function UsageChart({ usage }: { readonly usage: Usage }) {
  const width = useWidth();
  const height = HEIGHTS[width];
  const daysPerBar = usage.days.length > BARS_MAXIMUM ? 7 : 1;
  const buckets = bucketsOf(usage, daysPerBar);
  const most = buckets.reduce((largest, { seconds }) => Math.max(largest, seconds), 0);
  const { top, step } = scaleOf(most);
  const every = Math.ceil(buckets.length / LABELS[width]);
  const y = (seconds: number) => HEAD + (height - FOOT - HEAD) * (1 - seconds / top);
  const ticks = Array.from({ length: Math.round(top / step) + 1 }, (_, index) => index * step);
  return (
    <figure class="usage-chart" role="img" aria-label={sentenceOf(usage, daysPerBar)}>
      <svg class="usage-axis" height={height} aria-hidden="true">
        {ticks.map((tick) => (
          <text key={tick} class="chart-text" x="100%" dx="-6" y={y(tick) + 4} text-anchor="end">
            {hours(tick)} h
          </text>
        ))}
      </svg>
      <svg class="usage-plot" width="100%" height={height} aria-hidden="true">
        {ticks.map((tick) => (
          <line key={tick} class="chart-line" x1="0" x2="100%" y1={y(tick)} y2={y(tick)} />
        ))}
        {buckets.map((bucket, index) => (
          <Bar key={bucket.day} bucket={bucket} index={index} count={buckets.length} y={y} foot={height - FOOT} />
        ))}
        {buckets.map(({ day }, index) =>
          index % every === 0 ? (
            <DayLabel key={day} day={day} index={index} count={buckets.length} y={height - 5} />
          ) : null,
        )}
      </svg>
    </figure>
  );
}

interface DayLabelProps {
  readonly day: string;
  readonly index: number;
  readonly count: number;
  readonly y: number;
}

/** Aligned to the start of its bar; near the right edge, to the end of its bar. */
function DayLabel({ day, index, count, y }: DayLabelProps) {
  const isNearEnd = index / count > 0.88;
  const at = (index + (isNearEnd ? BAR_WIDTH : 0)) / count;
  return (
    <text class="chart-text" x={`${at * 100}%`} y={y} text-anchor={isNearEnd ? "end" : "start"}>
      {SHORT_DAY.format(Date.parse(day))}
    </text>
  );
}

interface BarProps {
  readonly bucket: Bucket;
  readonly index: number;
  readonly count: number;
  y(seconds: number): number;
  /** y of the zero line. */
  readonly foot: number;
}

function Bar({ bucket: { label, seconds, parts }, index, count, y, foot }: BarProps) {
  const x = `${(index / count) * 100}%`;
  const width = `${(BAR_WIDTH / count) * 100}%`;
  let below = 0;
  return (
    <g class="usage-bar">
      {parts.map((part) => {
        const bottom = y(below);
        below += part.seconds;
        const height = bottom - y(below);
        return (
          <rect
            key={part.tone}
            class="usage-part"
            fill={`var(--series-${part.tone})`}
            x={x}
            width={width}
            y={y(below)}
            height={Math.max(height - (height > 2 * GAP ? GAP : 0), 0)}
          />
        );
      })}
      {/* The whole column shows the tooltip, not just the bar. */}
      <rect class="usage-hover" x={x} width={`${100 / count}%`} y="0" height={foot}>
        <title>{titleOf(label, seconds, parts)}</title>
      </rect>
    </g>
  );
}

function titleOf(label: string, seconds: number, parts: Bucket["parts"]): string {
  const lines = parts.map((part) => `${part.name}: ${hours(part.seconds)} h`);
  return [`${label}: ${hours(seconds)} h`, ...(parts.length > 1 ? lines : [])].join("\n");
}

/** Index of a colour; the last one stands for all other names. */
export function toneOf(index: number): number {
  return Math.min(index, SERIES_SHOWN);
}

function bucketsOf({ days, series, hasNames }: Usage, daysPerBar: number): readonly Bucket[] {
  const tones = new Map(series.map(({ name }, index) => [name, toneOf(index)]));
  const named = series.slice(0, SERIES_SHOWN).map(({ name }) => name);
  const buckets: Bucket[] = [];
  for (let start = 0; start < days.length; start += daysPerBar) {
    const some = days.slice(start, start + daysPerBar);
    const sums = Array.from({ length: SERIES_SHOWN + 1 }, () => 0);
    for (const { byName } of some) {
      for (const [name, seconds] of byName) {
        const tone = hasNames ? (tones.get(name) ?? SERIES_SHOWN) : 0;
        sums[tone] = (sums[tone] ?? 0) + seconds;
      }
    }
    const parts = sums.map((seconds, tone) => ({ name: named[tone] ?? "others", seconds, tone }));
    buckets.push({
      day: some[0]?.day ?? "",
      label: labelOf(some),
      seconds: sums.reduce((total, seconds) => total + seconds, 0),
      parts: parts.filter(({ seconds }) => seconds > 0),
    });
  }
  return buckets;
}

function labelOf(days: readonly UsageDay[]): string {
  const [first, last] = [days[0], days.at(-1)].map((each) => utcDay(each?.day ?? ""));
  return first === last ? `${first}` : `${first} to ${last}`;
}

const SHORT_DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

/** Grid lines at 1, 2 or 5 times a power of ten hours. */
function scaleOf(most: number): { readonly top: number; readonly step: number } {
  const rough = Math.max(most, 36) / 3600 / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 5, 10].find((each) => each * power >= rough) ?? 10;
  const step = factor * power * 3600;
  return { step, top: Math.max(1, Math.ceil(most / step)) * step };
}

function sentenceOf({ days, seconds, by, series, range }: Usage, daysPerBar: number): string {
  const busiest = busiestOf(days);
  const kind = daysPerBar === 1 ? "by day" : "by seven days";
  const total = `Hours ${kind}, stacked by ${by}: ${hours(seconds)} hours in ${counted(lengthOf(range), "day")}`;
  if (busiest === undefined) return `${total}.`;
  const first = series[0];
  const top = first === undefined ? "" : ` Most used: ${first.name}, ${hours(first.seconds)} hours.`;
  return `${total}; the most on ${utcDay(busiest.day)}, ${hours(busiest.seconds)} hours.${top}`;
}
