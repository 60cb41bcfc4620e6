import type { InstallationView } from "../../../api/installations.ts";
import type { IdentifiedRobotView } from "../../../api/robot-views.ts";
import { relativeTime } from "../../../platform/text/relative-time.ts";
import { mayDo } from "../data/session.ts";
import { CopyableText, DigestChip } from "../parts/copy-button.tsx";
import { DialogButton } from "../parts/form/dialog-button.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Notice } from "../parts/notice.tsx";
import { Facts, Section } from "../parts/page.tsx";
import { RelativeTime, Sentence, useNow } from "../parts/relative-time.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { withSpaces } from "../parts/text.ts";
import { RecoveryDialog, ThawDialog } from "./change-computer.tsx";
import { installationPath, useInstallation } from "./data.ts";

/** The computer that speaks for the robot: its key, its credential, and when it was seen. */
export function Computer({ robot }: { readonly robot: IdentifiedRobotView }) {
  const installation = useInstallation(robot);
  return (
    <Section title="Computer">
      <Loaded data={installation} what="the computer of this robot" lines={6} missing={<NotEnrolled />}>
        {(view) => <Installation robot={robot} installation={view} />}
      </Loaded>
    </Section>
  );
}

function NotEnrolled() {
  return (
    <p class="muted">
      No computer was enrolled as this robot: it registers with an API key, and sends no heartbeats. To give it a
      credential of its own, run <code>sudo robot-policy-agent enroll</code> on it.
    </p>
  );
}

interface InstallationProps {
  readonly robot: IdentifiedRobotView;
  readonly installation: InstallationView;
}

function Installation({ robot, installation }: InstallationProps) {
  const { name } = robot;
  const path = installationPath(robot);
  const { state, readiness, reason, last_seen_at: lastSeenAt, last_address: lastAddress } = installation;
  const { recoveries_remaining: left, recovery_until: until } = installation;
  return (
    <>
      <StateNotice installation={installation} />
      <Facts
        facts={[
          ["State", <StatusBadge status={state} />],
          ["Last seen", <LastSeen at={lastSeenAt} address={lastAddress} />],
          ["Reports", readiness === null ? null : `${withSpaces(readiness)}${reason === null ? "" : `: ${reason}`}`],
          ["Agent", installation.runtime_version],
          [
            "Digest",
            installation.manifest_digest === null ? null : <DigestChip digest={installation.manifest_digest} />,
          ],
          ["Enrolled", <RelativeTime at={installation.enrolled_at} />],
          ["Approved with", <span class="mono whole">{installation.approved_by}</span>],
          ["Key", <CopyableText text={installation.key_fingerprint} what="fingerprint" />],
          ["Credential", <Credential installation={installation} />],
          // How often it may come back by itself after its credential expired.
          ["Recoveries", left === 0 ? "none left" : <Sentence text={`${left} left, until ${until}`} />],
        ]}
      />
      {state === "revoked" || !mayDo("robots:write") ? null : (
        <div class="buttons">
          {state === "frozen" ? (
            <DialogButton scope="robots:write" word="Thaw">
              {(close) => <ThawDialog robot={name} path={path} close={close} />}
            </DialogButton>
          ) : null}
          <DialogButton scope="robots:write" word="Allow recovery">
            {(close) => <RecoveryDialog robot={name} path={path} close={close} />}
          </DialogButton>
        </div>
      )}
    </>
  );
}

function StateNotice({ installation }: Pick<InstallationProps, "installation">) {
  const nowMs = useNow();
  const { state, credential_expires_at: expiresAt, recoveries_remaining: left, recovery_until: until } = installation;
  if (state === "frozen")
    return (
      <Notice tone="blocked" title="Frozen: two computers used this identity.">
        <p>
          Neither may do anything. Enroll the right computer again. Two agents on one computer, and a disk that was set
          back and then forward again, look the same: after such a false alarm, thaw it.
        </p>
      </Notice>
    );
  if (state === "revoked")
    return (
      <Notice tone="waiting" title="This computer was replaced.">
        <p>
          Run <code>sudo robot-policy-agent enroll</code> on the robot to give it a credential again.
        </p>
      </Notice>
    );
  const isLapsed = Date.parse(expiresAt) <= nowMs && (left === 0 || Date.parse(until) <= nowMs);
  if (!isLapsed) return null;
  return (
    <Notice tone="blocked" title="Its credential expired, and it may not renew it any more.">
      <p>It was off for too long, or too often. Allow it to recover, and it comes back by itself.</p>
    </Notice>
  );
}

function LastSeen({ at, address }: { readonly at: string | null; readonly address: string | null }) {
  if (at === null) return <span class="muted">never</span>;
  return (
    <>
      <RelativeTime at={at} />
      {address === null ? null : (
        <>
          {" "}
          from <span class="mono">{address}</span>
        </>
      )}
    </>
  );
}

function Credential({
  installation: { generation, state, credential_expires_at: expiresAt },
}: Pick<InstallationProps, "installation">) {
  const nowMs = useNow();
  return (
    <>
      Generation {generation}
      {state === "revoked" ? null : (
        <>
          , {Date.parse(expiresAt) <= nowMs ? "expired" : "expires"}{" "}
          <RelativeTime at={expiresAt} inWords={relativeTime} />
        </>
      )}
    </>
  );
}
