import { useEffect } from "preact/hooks";

import { relativeTime } from "../../../platform/text/relative-time.ts";
import { isUnreachable } from "../data/liveness.ts";
import { clockOffsetMs, serviceNow } from "../data/service-clock.ts";
import { createStore, useStore } from "../store.ts";
import { None } from "./none.tsx";

/** Shared clock of all relative times. It ticks rarely, so that an idle page rarely renders. */
const TICK_MS = 10_000;
const nowMs = createStore(serviceNow());
const tick = () => nowMs.set(serviceNow());

setInterval(() => {
  // While the service is unreachable the page shows old data, so relative times stand still too.
  if (document.visibilityState === "visible" && !isUnreachable()) tick();
}, TICK_MS);
document.addEventListener("visibilitychange", tick);
clockOffsetMs.subscribe(tick);

/** Milliseconds since the Unix epoch, at most ten seconds old. */
export function useNow(): number {
  return useStore(nowMs);
}

/** Whether a time has come; renders again the moment it comes. */
export function useIsPast(at: string): boolean {
  const now = useNow();
  const atMs = Date.parse(at);
  const isPast = atMs <= now;
  useEffect(() => {
    const leftMs = atMs - serviceNow();
    if (isPast || leftMs > TICK_MS) return undefined;
    const timer = setTimeout(tick, leftMs);
    return () => clearTimeout(timer);
  }, [atMs, now]);
  return isPast;
}

const ABSOLUTE = new Intl.DateTimeFormat("en-GB", {
  year: "numeric",
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
});

/** `21 Nov 2026, 06:26`, in the time zone of the person. */
export function absoluteTime(at: string): string {
  const ms = Date.parse(at);
  return Number.isNaN(ms) ? at : ABSOLUTE.format(ms);
}

interface RelativeTimeProps {
  readonly at: string | null | undefined;
  readonly inWords?: typeof relativeTime;
}

/**
 * How long ago, or in how long, with the exact time in the title.
 *
 * @param props.at ISO 8601; null shows a dash.
 * @param props.inWords `dueTime` for what is to come.
 */
export function RelativeTime({ at, inWords = relativeTime }: RelativeTimeProps) {
  const now = useNow();
  if (at === null || at === undefined) return <None />;
  return (
    <time dateTime={at} title={`${absoluteTime(at)} (${at})`}>
      {inWords(at, now)}
    </time>
  );
}

const MOMENT = /(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z)/;

/** A text of the service, with its timestamps as relative times. */
export function Sentence({ text }: { readonly text: string }) {
  const parts = text.split(MOMENT);
  return (
    <span>
      {parts.map((part, index) =>
        index % 2 === 0 ? (
          part
        ) : (
          <time key={part} dateTime={part} title={part}>
            {absoluteTime(part)}
          </time>
        ),
      )}
    </span>
  );
}
