import type { LifeSigns } from '../connection/hang-watch.ts';
import type { Reply } from '../connection/transport.ts';
import { gaugeOf } from './reports.ts';

/**
 * By what a server shows that it works on requests that it does not answer for long.
 * `vllm` and `sglang`: by the counters in `/metrics`; without them by the door, and by what the scheduler answers beside its work
 * (`/health_generate`). `slots`: `/slots`, which is answered between two steps of the work (llama-server). `chat`: a chat of
 * one token, where nobody queues behind others: one that is full would seem to hang. `door`: any answer.
 */
export type LifeWay = 'vllm' | 'sglang' | 'slots' | 'chat' | 'door';

/** They move with every step of the engine, or every few of them; those of whole requests may stand still for an hour. */
const counters: Partial<Record<LifeWay, readonly string[]>> = {
  vllm: [
    'vllm:generation_tokens_total',
    'vllm:prompt_tokens_total',
    'vllm:iteration_tokens_total_count',
    'vllm:kv_cache_usage_perc',
    'vllm:num_requests_running',
  ],
  sglang: [
    'sglang:generation_tokens_total',
    'sglang:prompt_tokens_total',
    'sglang:realtime_tokens_total',
    'sglang:num_used_tokens',
    'sglang:gen_throughput',
    'sglang:num_running_reqs',
  ],
};

export interface LifeParts {
  /** Below the address of the server. */
  get: (path: string) => Promise<Reply<Buffer>>;
  /** The same, for as long as it takes. */
  wait: (path: string, signal: AbortSignal) => Promise<Reply<Buffer>>;
  /** Asks for the least work there is. */
  work: (signal: AbortSignal) => Promise<unknown>;
  knock: () => Promise<unknown>;
}

export function createLifeSigns(way: () => LifeWay, { get, wait, work, knock }: LifeParts): LifeSigns {
  let before = '';

  return {
    async moved(first) {
      const names = counters[way()];
      if (!names) return null;
      const { status, body } = await get('/metrics');
      const now = names.map((name) => (status === 200 ? gaugeOf(body, name) : null));
      if (now.every((value) => value === null)) return null;
      const last = before;
      before = now.join();
      return !first && before !== last;
    },

    async answers(signal) {
      const by = way();
      if (by === 'door' || by === 'vllm') return knock();
      // Where it was told not to show its slots, its door must do. A step of the work may be a minute of a long prompt.
      if (by === 'slots') return wait('/slots', signal);
      if (by === 'chat') return work(signal);
      const { status } = await wait('/health_generate', signal);
      if (status === 503) throw new Error('its scheduler does not answer');
      return status;
    },
  };
}
