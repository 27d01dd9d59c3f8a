import { completion, send, startFakeUpstream } from './fake-upstream.ts';
import type { FakeUpstream } from './fake-upstream.ts';

/** An upstream that knows how often it was asked what. Each prompt is the custom_id of its line. */
export interface CountingUpstream extends FakeUpstream {
  /** Calls so far, by prompt. */
  calls: Map<string, number>;
  total(): number;
}

/**
 * Answers every chat completion after `delayMs` with tokens that differ from prompt to prompt, so that a sum over them
 * tells which were counted.
 */
export async function startCountingUpstream({ delayMs = 10 } = {}): Promise<CountingUpstream> {
  const calls = new Map<string, number>();
  const upstream = await startFakeUpstream((response, received) => {
    if (!received.path.endsWith('/chat/completions')) return send(response, 404, { error: {} });
    upstream.received.length = 0;
    const { messages } = JSON.parse(received.text) as { messages: { content: string }[] };
    const prompt = messages.at(-1)!.content;
    calls.set(prompt, (calls.get(prompt) ?? 0) + 1);
    const { prompt_tokens, completion_tokens, cached } = tokensOf(prompt);
    const usage = {
      prompt_tokens,
      completion_tokens,
      total_tokens: prompt_tokens + completion_tokens,
      prompt_tokens_details: { cached_tokens: cached },
    };
    const timer = setTimeout(
      () => send(response, 200, completion(`Answer to ${prompt}`, { usage })),
      delayMs,
    );
    response.on('close', () => clearTimeout(timer));
  });
  return Object.assign(upstream, {
    calls,
    total: () => [...calls.values()].reduce((sum, count) => sum + count, 0),
  });
}

/** What the answer to a prompt such as `row-17` is counted with. */
export function tokensOf(prompt: string): {
  prompt_tokens: number;
  completion_tokens: number;
  cached: number;
} {
  const n = Number(/\d+$/.exec(prompt)?.[0] ?? 0);
  return { prompt_tokens: 20 + (n % 97), completion_tokens: 3 + (n % 31), cached: n % 17 };
}
