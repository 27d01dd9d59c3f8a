import { randomUUID } from 'node:crypto';
import { completion, send, startFakeUpstream } from './fake-upstream.ts';
import type { FakeUpstream } from './fake-upstream.ts';

/** Upstream that counts its calls by prompt. Each prompt is the custom_id of its line. */
export interface CountingUpstream extends FakeUpstream {
  /** Number of calls by prompt. */
  calls: Map<string, number>;
  total(): number;
  /** Number of calls by the header `x-server`. */
  byServer: Map<string, number>;
  /** Number of calls that are answered before `release`. */
  holdAfter: number;
  /** True while a call with this `x-server` header is held. */
  holds(server: string): boolean;
  /** Answers the held calls, and from now on every call at once. */
  release(): void;
}

/**
 * Answers every chat completion after `delayMs`, with token counts that differ between prompts, so that a sum shows which
 * prompts were counted. The random path keeps servers of other tests out that still call a port which was reassigned.
 */
export async function startCountingUpstream({ delayMs = 10 } = {}): Promise<CountingUpstream> {
  const calls = new Map<string, number>();
  const byServer = new Map<string, number>();
  const held = new Map<() => void, string | string[] | undefined>();
  let asked = 0;
  const path = `/${randomUUID()}/v1`;
  const upstream = await startFakeUpstream((response, received) => {
    if (received.path !== `${path}/chat/completions`) return send(response, 404, { error: {} });
    upstream.received.length = 0;
    const { messages } = JSON.parse(received.text) as { messages: { content: string }[] };
    const prompt = messages.at(-1)!.content;
    // A server tries an upstream that it took out of service with a request of its own.
    if (prompt === 'Hi') return send(response, 200, completion('Hello'));
    calls.set(prompt, (calls.get(prompt) ?? 0) + 1);
    asked++;
    const server = String(received.headers['x-server']);
    byServer.set(server, (byServer.get(server) ?? 0) + 1);
    const { prompt_tokens, completion_tokens, cached } = tokensFor(prompt);
    const usage = {
      prompt_tokens,
      completion_tokens,
      total_tokens: prompt_tokens + completion_tokens,
      prompt_tokens_details: { cached_tokens: cached },
    };
    const answer = () => send(response, 200, completion(`Answer to ${prompt}`, { usage }));
    if (asked > counting.holdAfter) {
      held.set(answer, received.headers['x-server']);
      return void response.on('close', () => held.delete(answer));
    }
    const timer = setTimeout(answer, delayMs);
    response.on('close', () => clearTimeout(timer));
  });
  const counting: CountingUpstream = Object.assign(upstream, {
    url: `http://127.0.0.1:${upstream.port}${path}`,
    calls,
    byServer,
    total: () => asked,
    holdAfter: Infinity,
    holds: (server: string) => [...held.values()].includes(server),
    release() {
      counting.holdAfter = Infinity;
      for (const answer of held.keys()) answer();
    },
  });
  return counting;
}

/** Token counts of the answer to a prompt such as `row-17`. */
export function tokensFor(prompt: string): {
  prompt_tokens: number;
  completion_tokens: number;
  cached: number;
} {
  const n = Number(/\d+$/.exec(prompt)?.[0] ?? 0);
  return { prompt_tokens: 20 + (n % 97), completion_tokens: 3 + (n % 31), cached: n % 17 };
}
