import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import { firstLine, start, stop } from './processes.ts';

/** Statistics of the upstream since its last reset, with the names of `upstream/upstream.c`. */
export interface UpstreamStats {
  total: number;
  refused: number;
  cut: number;
  hung: number;
  max_active: number;
  max_queued: number;
  busy_slot_ms: number;
  lost_slot_ms: number;
  span_ms: number;
  utilisation: number;
  first_epoch_ms: number;
  last_epoch_ms: number;
}

export interface Upstream {
  kind: 'C' | 'Node';
  /** Returns the base URL, ending in `/v1`, for one way of answering. */
  url(how: 'fast' | 'delay' | 'refuse' | 'trouble' | 'burst' | 'paced'): string;
  stats(): Promise<UpstreamStats>;
  /** @param settings `sigma`: spread of lognormal delays with the mean `delayMs`; 0 for constant delays */
  reset(settings?: { slots?: number; delayMs?: number; sigma?: number }): Promise<void>;
  stop(): Promise<void>;
}

const folder = fileURLToPath(new URL('../upstream', import.meta.url));

/**
 * Starts an upstream with 64 slots of 50 ms.
 * @param tokens events per streamed answer, excluding its usage and its end
 */
export async function startUpstream(tokens = 50): Promise<Upstream> {
  const binary = compile();
  const settings = ['64', '50', `${tokens}`];
  const child = binary
    ? start('rest', binary, settings)
    : start('rest', process.execPath, [join(folder, 'fallback.ts'), ...settings]);
  const { port } = JSON.parse(await firstLine(child)) as { port: number };
  const origin = `http://127.0.0.1:${port}`;
  const get = async (path: string) => (await request(origin + path)).body.json();
  return {
    kind: binary ? 'C' : 'Node',
    url: (how) => `${origin}/${how}/v1`,
    stats: async () => (await get('/stats')) as UpstreamStats,
    async reset(changes = {}) {
      const names = { slots: 'slots', delayMs: 'delay', sigma: 'sigma' } as const;
      const given = Object.entries(changes) as [keyof typeof names, number][];
      const query = given.map(([name, value]) => `${names[name]}=${value}`).join('&');
      await get(`/stats?reset&${query}`);
    },
    stop: () => stop(child),
  };
}

/** Compiles `upstream.c` and returns the path of the program; undefined without a C compiler. */
function compile(): string | undefined {
  const binary = join(mkdtempSync(join(tmpdir(), 'offpeak-bench-')), 'upstream');
  try {
    execFileSync('cc', ['-O2', '-o', binary, join(folder, 'upstream.c'), '-lm'], { stdio: 'ignore' });
    return binary;
  } catch {
    return undefined;
  }
}
