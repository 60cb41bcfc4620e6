import type { FleetDetails } from "../../../api/fleet-details.ts";
import { chosenDuration } from "../../../platform/text/relative-time.ts";
import { useNow, absoluteTime } from "../parts/relative-time.tsx";
import { SmallTable } from "../parts/table/small-table.tsx";
import { counted } from "../parts/text.ts";
import { useWidth } from "../parts/use-width.ts";
import { daysLater, startOfDay, startOfDayLater } from "./local-days.ts";

type OperatingWindow = FleetDetails["operating_windows"][number];

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

const DAYS_SHOWN = 14;
const HEIGHT = 56;
const BAR = { y: 8, height: 22 } as const;

const WEEKDAY = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric" });

/** Two weeks of operating windows, from yesterday on, and all windows as a table. */
export function WindowsTimeline({ windows }: { readonly windows: readonly OperatingWindow[] }) {
  const nowMs = useNow();
  const spans = spansOf(windows);
  const fromMs = startOfDay(Math.min(nowMs, Math.max(daysLater(nowMs, -1), spans[0]?.fromMs ?? nowMs)));
  const frame = { fromMs, toMs: startOfDayLater(fromMs, DAYS_SHOWN) };
  const later = spans.filter((span) => span.fromMs >= frame.toMs).length;
  return (
    <>
      <p>
        {stateText(spans, nowMs)}
        {later === 0 ? "" : ` ${counted(later, "window")} after these two weeks.`}
      </p>
      <Drawing spans={spans} frame={frame} nowMs={nowMs} />
      <details>
        <summary>{counted(windows.length, "window")} as a table</summary>
        <WindowTable windows={windows} nowMs={nowMs} />
      </details>
    </>
  );
}

interface DrawingProps {
  readonly spans: readonly Span[];
  readonly frame: Span;
  readonly nowMs: number;
}

/** Positions are percentages, so that the drawing fills the width without stretching its text. */
function Drawing({ spans, frame, nowMs }: DrawingProps) {
  const step = useWidth() === "phone" ? 4 : 1;
  const days = Array.from({ length: DAYS_SHOWN }, (_, day) => startOfDayLater(frame.fromMs, day));
  const shown = spans.filter(({ fromMs, toMs }) => toMs > frame.fromMs && fromMs < frame.toMs);
  return (
    <svg class="timeline" width="100%" height={HEIGHT} role="img" aria-label={stateText(spans, nowMs)}>
      <rect class="timeline-ground" x="0" y={BAR.y} width="100%" height={BAR.height} />
      {days.map((dayMs, index) => (
        <g key={dayMs}>
          <line class="chart-line" x1={percent(dayMs, frame)} x2={percent(dayMs, frame)} y1={BAR.y} y2={HEIGHT} />
          {index % step === 0 ? (
            <text class="chart-text" x={percent(dayMs, frame)} dx="4" y={HEIGHT - 6}>
              {WEEKDAY.format(dayMs)}
            </text>
          ) : null}
        </g>
      ))}
      {shown.map(({ fromMs, toMs }) => {
        const left = fraction(fromMs, frame);
        const width = `${(fraction(toMs, frame) - left) * 100}%`;
        return (
          <rect key={fromMs} class="timeline-window" x={`${left * 100}%`} y={BAR.y} width={width} height={BAR.height} />
        );
      })}
      <line
        class="timeline-now"
        x1={percent(nowMs, frame)}
        x2={percent(nowMs, frame)}
        y1="0"
        y2={BAR.y + BAR.height + 6}
      />
    </svg>
  );
}

interface WindowTableProps {
  readonly windows: readonly OperatingWindow[];
  readonly nowMs: number;
}

function WindowTable({ windows, nowMs }: WindowTableProps) {
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
          <td>{chosenDuration(Date.parse(ends_at) - Date.parse(starts_at))}</td>
          <td>{Date.parse(ends_at) <= nowMs ? "past" : Date.parse(starts_at) <= nowMs ? "open now" : "to come"}</td>
        </tr>
      ))}
    </SmallTable>
  );
}

function stateText(spans: readonly Span[], nowMs: number): string {
  const current = spans.find(({ fromMs, toMs }) => fromMs <= nowMs && nowMs < toMs);
  if (current !== undefined) return `Open now, until ${absoluteTime(current.toMs)}.`;
  const next = spans.find(({ fromMs }) => fromMs > nowMs);
  return next === undefined
    ? "All windows are past."
    : `Closed now. The next window opens ${absoluteTime(next.fromMs)}.`;
}

function spansOf(windows: readonly OperatingWindow[]): readonly Span[] {
  const spans = windows.map(({ starts_at, ends_at }) => ({
    fromMs: Date.parse(starts_at),
    toMs: Date.parse(ends_at),
  }));
  return spans.sort((left, right) => left.fromMs - right.fromMs);
}

function fraction(ms: number, { fromMs, toMs }: Span): number {
  return Math.min(1, Math.max(0, (ms - fromMs) / (toMs - fromMs)));
}

function percent(ms: number, frame: Span): string {
  return `${fraction(ms, frame) * 100}%`;
}
