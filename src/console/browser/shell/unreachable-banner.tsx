import { lastAnswerMs, liveness } from "../data/liveness.ts";
import { Notice } from "../parts/notice.tsx";
import { useStore } from "../store.ts";

const TIME = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** Above every page while the service is unreachable and the page shows old data. */
export function UnreachableBanner() {
  const state = useStore(liveness);
  const since = TIME.format(useStore(lastAnswerMs));
  if (state !== "waiting" && state !== "offline") return null;
  const title = state === "offline" ? "This computer is offline" : "The service does not answer";
  return (
    <div class="unreachable-banner" role="alert">
      <Notice tone="degraded" title={`${title}.`}>
        <p>The page shows the state at {since}. It tries again every second.</p>
      </Notice>
    </div>
  );
}
