/** Whether a host, as a URL or a `--host` names it, is this machine and nobody else's. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}
