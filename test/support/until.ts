/**
 * Polls until `probe` returns something other than undefined, null or false. Throws after `withinMs`. Tests wait for
 * events, never for time to pass.
 */
export async function until<T>(
  what: string,
  probe: () => T | Promise<T>,
  { withinMs = 240_000, everyMs = 10 }: { withinMs?: number; everyMs?: number } = {},
): Promise<Exclude<T, undefined | null | false>> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const found = await probe();
    if (found !== undefined && found !== null && found !== false)
      return found as Exclude<T, undefined | null | false>;
    if (performance.now() > deadline) throw new Error(`waited ${withinMs} ms in vain: ${what}`);
    await pause(everyMs);
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
