import { isIPv6 } from "node:net";

/** Where the service accepts connections. Port 0 takes any free one. */
export interface ListenAddress {
  /** A name or an address; an IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
}

const ADDRESS = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]\s/]+)):(\d{1,5})$/;
const PORT_MAXIMUM = 65_535;
const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|::1|localhost)$/;

/** Reads `HOST:PORT`, an IPv6 host in brackets. */
export function parseListenAddress(text: string): ListenAddress | null {
  const match = ADDRESS.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  return host === undefined || port > PORT_MAXIMUM ? null : { host, port };
}

/** Formats an address for `parseListenAddress`. */
export function formatListenAddress({ host, port }: ListenAddress): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/** Whether only programs on this machine can reach it. */
export function isLoopback({ host }: ListenAddress): boolean {
  return LOOPBACK.test(host);
}
