import type { Watched } from './live-list.ts';

/** Counts the events of batches of all orgs until it is stopped. */
export function followedChanges({ offpeak: { url }, adminKey }: Watched): { stop(): Promise<number> } {
  const gone = new AbortController();
  let changes = 0;
  const ended = (async () => {
    const { body } = await fetch(`${url}/v1/admin/batches/events`, {
      headers: { authorization: `Bearer ${adminKey}` },
      signal: gone.signal,
    });
    let rest = '';
    for await (const part of body!.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + part).split('\n');
      rest = lines.pop()!;
      changes += lines.filter((line) => line === 'event: batch').length;
    }
  })().catch((error: unknown) => {
    if (!gone.signal.aborted) throw error;
  });
  return {
    async stop() {
      gone.abort();
      await ended;
      return changes;
    },
  };
}
