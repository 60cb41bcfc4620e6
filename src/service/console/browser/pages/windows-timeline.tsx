import { shortDuration } from "../../../../platform/relative-time.ts";
import { useNow, absoluteTime } from "../parts/relative-time.tsx";
import { SmallTable } from "../parts/small-table.tsx";
import { counted } from "../parts/text.ts";
import { useWidth } from "../parts/use-width.ts";

export interface OperatingWindow {
  readonly starts_at: string;
  readonly ends_at: string;
}

interface Span {
  readonly from_ms: number;
  readonly to_ms: number;
}

const DAY_MS = 86_400_000;
/** Two weeks is what a plan of shifts is looked at for. */
const DAYS_SHOWN = 14;
const HEIGHT = 56;
const BAR = { y: 8, height: 22 } as const;

const WEEKDAY = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric" });

/** Two weeks of operating windows from yesterday on, with now; and all of them as a table. */
export function WindowsTimeline({ windows }: { readonly windows: readonly OperatingWindow[] }) {
  const now_ms = useNow();
  const spans = spansOf(windows);
  const from_ms = startOfDay(Math.min(now_ms, Math.max(now_ms - DAY_MS, spans[0]?.from_ms ?? now_ms)));
  const frame = { from_ms, to_ms: from_ms + DAYS_SHOWN * DAY_MS };
  const later = spans.filter((span) => span.from_ms >= frame.to_ms).length;
  return (
    <>
      <p class="timeline-word">
        {stateText(spans, now_ms)}
        {later === 0 ? "" : ` ${counted(later, "window")} after these two weeks.`}
      </p>
      <Drawing spans={spans} frame={frame} now_ms={now_ms} />
      <details>
        <summary>{counted(windows.length, "window")} as a table</summary>
        <WindowTable windows={windows} now_ms={now_ms} />
      </details>
    </>
  );
}

interface DrawingProps {
  readonly spans: readonly Span[];
  readonly frame: Span;
  readonly now_ms: number;
}

/** Laid out in per cent, so that it is as wide as there is room, and its words are not stretched. */
function Drawing({ spans, frame, now_ms }: DrawingProps) {
  const step = useWidth() === "phone" ? 4 : 1;
  const days = Array.from({ length: DAYS_SHOWN }, (_, day) => frame.from_ms + day * DAY_MS);
  const shown = spans.filter(({ from_ms, to_ms }) => to_ms > frame.from_ms && from_ms < frame.to_ms);
  return (
    <svg class="timeline" width="100%" height={HEIGHT} role="img" aria-label={stateText(spans, now_ms)}>
      <rect class="timeline-ground" x="0" y={BAR.y} width="100%" height={BAR.height} />
      {days.map((day_ms, index) => (
        <g key={day_ms}>
          <line class="timeline-day" x1={percent(day_ms, frame)} x2={percent(day_ms, frame)} y1={BAR.y} y2={HEIGHT} />
          {index % step === 0 ? (
            <text class="timeline-text" x={percent(day_ms, frame)} dx="4" y={HEIGHT - 6}>
              {WEEKDAY.format(day_ms)}
            </text>
          ) : null}
        </g>
      ))}
      {shown.map(({ from_ms, to_ms }) => {
        const left = fraction(from_ms, frame);
        const width = `${(fraction(to_ms, frame) - left) * 100}%`;
        return (
          <rect
            key={from_ms}
            class="timeline-window"
            x={`${left * 100}%`}
            y={BAR.y}
            width={width}
            height={BAR.height}
          />
        );
      })}
      <line
        class="timeline-now"
        x1={percent(now_ms, frame)}
        x2={percent(now_ms, frame)}
        y1="0"
        y2={BAR.y + BAR.height + 6}
      />
    </svg>
  );
}

interface WindowTableProps {
  readonly windows: readonly OperatingWindow[];
  readonly now_ms: number;
}

function WindowTable({ windows, now_ms }: WindowTableProps) {
  return (
    <SmallTable label="Operating windows" heads={["Starts", "Ends", "Length", "State"]}>
      {windows.map(({ starts_at, ends_at }) => (
        <tr key={starts_at}>
          <th scope="row">
            <time dateTime={starts_at}>{absoluteTime(starts_at)}</time>
          </th>
          <td>
            <time dateTime={ends_at}>{absoluteTime(ends_at)}</time>
          </td>
          <td>{shortDuration(Date.parse(ends_at) - Date.parse(starts_at))}</td>
          <td>{Date.parse(ends_at) <= now_ms ? "past" : Date.parse(starts_at) <= now_ms ? "open now" : "to come"}</td>
        </tr>
      ))}
    </SmallTable>
  );
}

function stateText(spans: readonly Span[], now_ms: number): string {
  const current = spans.find(({ from_ms, to_ms }) => from_ms <= now_ms && now_ms < to_ms);
  if (current !== undefined) return `Open now, until ${absoluteOf(current.to_ms)}.`;
  const next = spans.find(({ from_ms }) => from_ms > now_ms);
  return next === undefined
    ? "All windows are past."
    : `Closed now. The next window opens ${absoluteOf(next.from_ms)}.`;
}

function absoluteOf(ms: number): string {
  return absoluteTime(new Date(ms).toISOString());
}

function spansOf(windows: readonly OperatingWindow[]): readonly Span[] {
  const spans = windows.map(({ starts_at, ends_at }) => ({
    from_ms: Date.parse(starts_at),
    to_ms: Date.parse(ends_at),
  }));
  return spans.sort((left, right) => left.from_ms - right.from_ms);
}

function startOfDay(ms: number): number {
  return new Date(ms).setHours(0, 0, 0, 0);
}

function fraction(ms: number, { from_ms, to_ms }: Span): number {
  return Math.min(1, Math.max(0, (ms - from_ms) / (to_ms - from_ms)));
}

function percent(ms: number, frame: Span): string {
  return `${fraction(ms, frame) * 100}%`;
}
