import { createIds } from '../../../src/base/ids.ts';
import type { Log } from '../../../src/base/log.ts';
import { systemClock, systemRandom } from '../../../src/base/system.ts';
import type { Engine, EngineCall } from '../../../src/engines/engines.ts';
import { createUpstreamEngine } from '../../../src/engines/upstream/upstream.ts';
import type { UpstreamOptions } from '../../../src/engines/upstream/upstream-options.ts';
import type { ChatChunk, ChatChunks, ChatRequest } from '../../../src/wire/chat/chat.ts';

export function engineAt(url: string, more: Partial<UpstreamOptions> = {}): Engine {
  return createUpstreamEngine({
    url,
    model: 'real-name',
    apiKey: 'secret-upstream-key',
    slots: 4,
    serves: ['chat', 'embeddings'],
    clock: systemClock,
    ids: createIds(systemClock, systemRandom),
    log: createLogBook(),
    ...more,
  });
}

export interface LogBook extends Log {
  warnings: { fields: object; message: string }[];
}

export function createLogBook(): LogBook {
  const warnings: LogBook['warnings'] = [];
  const quiet = () => {};
  const warn = (fields: object, message: string) => void warnings.push({ fields, message });
  return {
    warnings,
    debug: quiet,
    info: quiet,
    warn,
    error: quiet,
    isLevelEnabled: () => false,
    child: () => createLogBook(),
  };
}

export const json = <T>(value: T) => ({ value, text: JSON.stringify(value) });

export const ask = (more: Partial<ChatRequest> = {}) =>
  json<ChatRequest>({ model: 'public', messages: [{ role: 'user', content: 'hi' }], ...more });

export const call = (signal: AbortSignal = new AbortController().signal): EngineCall => ({
  signal,
  priority: 'interactive',
});

export async function collect(lists: ChatChunks): Promise<ChatChunk[]> {
  const all = [];
  for await (const chunks of lists) all.push(...chunks);
  return all;
}

export function textOf(chunks: ChatChunk[]): string {
  return chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('');
}
