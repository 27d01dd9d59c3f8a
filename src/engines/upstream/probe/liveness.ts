import type { Clock } from '../../../base/clock.ts';
import { builtBody } from '../../../wire/json/json-body.ts';
import type { ChatRequest } from '../../../wire/chat/chat.ts';
import type { Address } from '../connection/address.ts';
import type { Connections } from '../connection/connections.ts';
import { createHangWatch, type HangWatch } from '../connection/hang-watch.ts';
import type { LivenessProbe } from '../flavors/traits.ts';
import type { Prober } from './prober.ts';
import { gaugeOf } from './reports.ts';

/** They move with every step of the engine, or every few of them; those of whole requests may stand still for an hour. */
const counters: Partial<Record<LivenessProbe, readonly string[]>> = {
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

/** Below that a server that is slow to be asked would be taken for one that hangs. */
const leastWatchedMs = 60_000;

export interface LivenessDeps {
  clock: Clock;
  idleMs: number;
  connections: Connections;
  address: Address;
  profile: Pick<Prober, 'now'>;
}

/** Watches by what servers of its kind show whether one hangs. */
export function watchLiveness({ clock, idleMs, connections, address, profile }: LivenessDeps): HangWatch {
  const never = new AbortController().signal;
  const way = () => profile.now.traits.liveness ?? 'door';
  let before = '';

  /** Whether a counter moved since the last time; null where it shows none. */
  async function moved(first: boolean): Promise<boolean | null> {
    const names = counters[way()];
    if (!names) return null;
    const { status, body } = await connections.beside.get(address.rootPath('/metrics'), never);
    const now = names.map((name) => (status === 200 ? gaugeOf(body, name) : null));
    if (now.every((value) => value === null)) return null;
    const last = before;
    before = now.join();
    return !first && before !== last;
  }

  async function answers(signal: AbortSignal): Promise<unknown> {
    const { beside, work } = connections;
    const by = way();
    if (by === 'door' || by === 'vllm') return beside.get(address.path('/models'), never);
    // Where it was told not to show its slots, its door must do. A step of the work may be a minute of a long prompt.
    if (by === 'slots') return work.get(address.rootPath('/slots'), signal);
    if (by === 'chat') return work.post(...leastWork(), signal);
    const { status } = await work.get(address.rootPath('/health_generate'), signal);
    if (status === 503) throw new Error('its scheduler does not answer');
    return status;
  }

  /** The path and the text of a request that costs next to nothing. */
  function leastWork(): [string, string] {
    const { capabilities, dialect, request: wording, chatPath, embeddingsPath } = profile.now;
    const { model } = wording;
    if (!capabilities.serves.includes('chat'))
      return [address.path(embeddingsPath), JSON.stringify({ model, input: 'a' })];
    const messages = [{ role: 'user' as const, content: 'Hi' }];
    const least = builtBody<ChatRequest>({ model, messages, max_completion_tokens: 1 });
    return [address.path(chatPath), dialect.text(least, false, wording)];
  }

  return createHangWatch({
    clock,
    idleMs: idleMs && Math.max(idleMs, leastWatchedMs),
    work: () => connections.open,
    moved,
    answers,
  });
}
