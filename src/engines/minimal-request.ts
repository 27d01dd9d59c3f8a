import type { ChatRequest } from '../wire/chat/chat.ts';
import type { CompletionsRequest } from '../wire/completions/completions.ts';
import { smallestDirect } from '../wire/direct/smallest.ts';
import { builtBody } from '../wire/json/json-body.ts';
import type { Engine } from './engines.ts';

/** Replaced by the engine's own model name. */
const model = '';

/** Sends the minimal request of `Engine.tryOut`. */
export async function sendMinimalRequest(
  engine: Pick<Engine, 'capabilities' | 'generate' | 'direct' | 'native'>,
  signal: AbortSignal,
): Promise<void> {
  const { serves } = engine.capabilities;
  const call = { signal, priority: 'batch' } as const;
  if (serves.includes('chat')) {
    const messages = [{ role: 'user' as const, content: 'Hi' }];
    const chat: ChatRequest & Record<string, unknown> = { model, messages, max_completion_tokens: 1 };
    await engine.generate(builtBody(chat), call);
    return;
  }
  const direct = smallestDirect(serves, model);
  if (direct) await engine.direct(direct.kind, builtBody(direct.request), call);
  else {
    const prompt: CompletionsRequest & Record<string, unknown> = { model, prompt: 'a', max_tokens: 1 };
    await engine.native?.generate('completions', builtBody(prompt), call);
  }
}
