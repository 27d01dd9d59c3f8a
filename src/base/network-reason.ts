/** Reason why a connection failed, as the end of a sentence. */
export function networkReason(error: unknown, host: string): string {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `the host ${host} was not found, or there is no network`;
  if (code === 'ECONNREFUSED') return `${host} refuses connections`;
  if (/TIMEOUT|TIMEDOUT/.test(code)) return `${host} did not answer in time`;
  return `the connection to ${host} broke (${code || (error instanceof Error ? error.message : String(error))})`;
}
