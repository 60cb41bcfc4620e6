import { pastTime, type relativeTime } from "../../../platform/text/relative-time.ts";
import { liveness } from "../data/live.ts";
import { clockOffsetMs, serviceNow } from "../data/request.ts";
import { createStore, useStore } from "../store.ts";
import { None } from "./page.tsx";

/** Shared clock of all relative times. It ticks rarely, so that an idle page rarely renders. */
const TICK_MS = 10_000;
const nowMs = createStore(serviceNow());
const tick = () => nowMs.set(serviceNow());

setInterval(() => {
  // While the service is unreachable the page shows old data, so relative times stand still too.
  if (document.visibilityState === "visible" && liveness.get() !== "waiting") tick();
}, TICK_MS);
document.addEventListener("visibilitychange", tick);
clockOffsetMs.subscribe(tick);

/** Milliseconds since the Unix epoch, at most ten seconds old. */
export function useNow(): number {
  return useStore(nowMs);
}

/** Whether a time has come. */
export function useIsPast(at: string): boolean {
  return Date.parse(at) <= useNow();
}

/** Dates have one form everywhere: `21 Nov 2026`. Times are in the time zone of the person. */
const DAY = { year: "numeric", month: "short", day: "numeric" } as const;
const MINUTE = { ...DAY, hour: "2-digit", minute: "2-digit" } as const;
const DATE_FORMAT = new Intl.DateTimeFormat("en-GB", DAY);
const UTC_DATE_FORMAT = new Intl.DateTimeFormat("en-GB", { ...DAY, timeZone: "UTC" });
const TIME_FORMAT = new Intl.DateTimeFormat("en-GB", MINUTE);
const EXACT_FORMAT = new Intl.DateTimeFormat("en-GB", { ...MINUTE, second: "2-digit", timeZoneName: "short" });

/** `21 Nov 2026, 06:26`. */
export function absoluteTime(at: string | number): string {
  return formatted(at, TIME_FORMAT);
}

/** `21 Nov 2026, 06:26:05 CET`. */
export function exactTime(at: string): string {
  return formatted(at, EXACT_FORMAT);
}

/** `21 Nov 2026` for the day `2026-11-21` in UTC. */
export function utcDay(day: string): string {
  return formatted(day, UTC_DATE_FORMAT);
}

/** A text that is no time stays as it is. */
function formatted(at: string | number, format: Intl.DateTimeFormat): string {
  const ms = typeof at === "number" ? at : Date.parse(at);
  return Number.isNaN(ms) ? String(at) : format.format(ms);
}

function dateOf(ms: number): string {
  return DATE_FORMAT.format(ms);
}

interface RelativeTimeProps {
  readonly at: string | null | undefined;
  readonly inWords?: typeof relativeTime;
}

/**
 * How long ago, with the exact time in the title.
 *
 * @param props.at ISO 8601; null shows a dash.
 * @param props.inWords `relativeTime` for what ends or begins.
 */
export function RelativeTime({ at, inWords = pastTime }: RelativeTimeProps) {
  const now = useNow();
  if (at === null || at === undefined) return <None />;
  return (
    <time dateTime={at} title={exactTime(at)}>
      {inWords(at, now, dateOf)}
    </time>
  );
}

const MOMENT = /(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z)/g;

/** A text of the service with its timestamps as absolute times, where only a text is possible. */
export function withTimes(text: string): string {
  return text.replaceAll(MOMENT, (at) => absoluteTime(at));
}

/** A text of the service with its timestamps as absolute times. */
export function Sentence({ text }: { readonly text: string }) {
  const parts = text.split(MOMENT);
  return (
    <span>
      {parts.map((part, index) =>
        index % 2 === 0 ? (
          part
        ) : (
          <time key={part} dateTime={part} title={exactTime(part)}>
            {absoluteTime(part)}
          </time>
        ),
      )}
    </span>
  );
}
