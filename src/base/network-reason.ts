/** Why a connection failed, as the end of a sentence. */
export function networkReason(error: unknown, host: string): string {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `there is no host ${host}, or no network`;
  if (code === 'ECONNREFUSED') return `${host} refuses connections`;
  if (/TIMEOUT|TIMEDOUT/.test(code)) return `${host} went silent`;
  return `the connection to ${host} broke (${code || (error instanceof Error ? error.message : String(error))})`;
}
