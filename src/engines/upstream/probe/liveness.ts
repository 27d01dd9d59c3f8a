import type { Clock } from '../../../base/clock.ts';
import type { ChatRequest } from '../../../wire/chat/chat.ts';
import { smallestDirect } from '../../../wire/direct/smallest.ts';
import { builtBody } from '../../../wire/json/json-body.ts';
import type { Address } from '../connection/address.ts';
import type { Connections } from '../connection/connections.ts';
import { createHangWatch, type HangWatch } from '../connection/hang-watch.ts';
import type { LivenessProbe } from '../flavors/traits.ts';
import type { Prober } from './prober.ts';
import { gaugeOf } from './reports.ts';

/** Metrics that move at least every few steps of the engine; those of whole requests may rest for an hour. */
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

/** Shorter times would mistake a slow server for one that hangs. */
const minIdleMs = 60_000;

export interface LivenessDeps {
  clock: Clock;
  idleMs: number;
  connections: Connections;
  address: Address;
  prober: Pick<Prober, 'profile'>;
}

/** Watches whether a server hangs, by the signs of life that its flavor gives. */
export function watchLiveness({ clock, idleMs, connections, address, prober }: LivenessDeps): HangWatch {
  const never = new AbortController().signal;
  const kind = () => prober.profile.traits.liveness ?? 'door';
  let lastValues = '';

  async function countersMoved(first: boolean): Promise<boolean | null> {
    const names = counters[kind()];
    if (!names) return null;
    const { status, body } = await connections.probes.get(address.rootPath('/metrics'), never);
    const values = names.map((name) => (status === 200 ? gaugeOf(body, name) : null));
    if (values.every((value) => value === null)) return null;
    const before = lastValues;
    lastValues = values.join();
    return !first && lastValues !== before;
  }

  async function sendProbe(signal: AbortSignal): Promise<unknown> {
    const { probes, work } = connections;
    const by = kind();
    if (by === 'door' || by === 'vllm') return probes.get(address.path('/models'), never);
    // A refusal to show the slots counts as an answer. One step of a long prompt may take a minute.
    if (by === 'slots') return work.get(address.rootPath('/slots'), signal);
    if (by === 'chat') return work.post(...minimalRequest(), signal);
    const { status } = await work.get(address.rootPath('/health_generate'), signal);
    if (status === 503) throw new Error('its scheduler does not answer');
    return status;
  }

  /** Path and text of a minimal request. */
  function minimalRequest(): [string, string] {
    const { capabilities, dialect, request, chatPath, directPaths } = prober.profile;
    const { model } = request;
    const { serves } = capabilities;
    const direct = serves.includes('chat') ? undefined : smallestDirect(serves, model);
    if (direct) return [address.path(directPaths[direct.kind]), JSON.stringify(direct.request)];
    const messages = [{ role: 'user' as const, content: 'Hi' }];
    const chat = builtBody<ChatRequest>({ model, messages, max_completion_tokens: 1 });
    return [address.path(chatPath), dialect.text(chat, false, request)];
  }

  return createHangWatch({
    clock,
    idleMs: idleMs && Math.max(idleMs, minIdleMs),
    work: () => connections.open,
    countersMoved,
    sendProbe,
  });
}
