/** Address of this script: `<console>/assets/<name>.js` in a build. */
const script = import.meta.url;

/**
 * Path of the console, `/console/`, and of the server above it. Both come from the address of this script, so that a proxy can serve
 * them below a prefix that the server does not know: `/offpeak/console/`.
 */
export const consolePath = import.meta.env.DEV ? '/console/' : new URL('../', script).pathname;
export const serverPath = consolePath.slice(0, -'console/'.length);

/** Address of the server, without a slash at its end, as clients of the API take it. */
export function serverUrl(): string {
  return location.origin + serverPath.slice(0, -1);
}
