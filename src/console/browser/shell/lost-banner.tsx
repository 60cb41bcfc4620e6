import { lastSignMs, liveness } from "../data/liveness.ts";
import { Notice } from "../parts/notice.tsx";
import { useStore } from "../store.ts";

const TIME = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** Above every page while the service is out of reach: what the page shows is the past. */
export function LostBanner() {
  const state = useStore(liveness);
  const since = TIME.format(useStore(lastSignMs));
  if (state !== "waiting" && state !== "offline") return null;
  const title = state === "offline" ? "This computer is offline" : "The service does not answer";
  return (
    <div class="lost-banner" role="alert">
      <Notice tone="degraded" title={`${title}.`}>
        <p>The page shows how things were at {since}. It tries again every second.</p>
      </Notice>
    </div>
  );
}
