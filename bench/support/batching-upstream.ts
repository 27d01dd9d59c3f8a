import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import { firstLine, start, stop } from './processes.ts';

export interface BatchingUpstream {
  /** Base URL, ending in `/v1`. */
  url: string;
  /** Milliseconds from the first request to the last answer, since the previous call. */
  spanMs(): Promise<number>;
  stop(): Promise<void>;
}

/** Starts a model server with continuous batching. @param curve name in `test/support/batching-curves.ts` */
export async function startBatchingUpstream(curve: string): Promise<BatchingUpstream> {
  const file = fileURLToPath(new URL('../upstream/batching.ts', import.meta.url));
  const child = start('rest', process.execPath, [file, curve]);
  const { port } = JSON.parse(await firstLine(child)) as { port: number };
  const origin = `http://127.0.0.1:${port}`;
  return {
    url: `${origin}/v1`,
    async spanMs() {
      const { body } = await request(`${origin}/stats`);
      return ((await body.json()) as { span_ms: number }).span_ms;
    },
    stop: () => stop(child),
  };
}
