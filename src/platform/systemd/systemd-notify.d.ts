/** The npm package systemd-notify has no types; these cover what is used (notify.js, version 1.0.0). */
declare module "systemd-notify" {
  interface Notification {
    readonly ready?: true;
    readonly status?: string;
    readonly pid?: number;
  }
  export default function notify(notification: Notification): Promise<unknown>;
}
