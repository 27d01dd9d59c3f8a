// Offpeak's embedded engine in a process, which starts the engine's own. Same arguments as bare-llama.ts. The parent
// sends user messages and gets the number of generated tokens.
import { silent } from '../../src/base/log.ts';
import { systemClock } from '../../src/base/system.ts';
import { createLlamaEngine } from '../../src/engines/llama/engine.ts';
import type { ChatRequest } from '../../src/wire/chat/chat.ts';
import type { BareOptions } from './bare-llama.ts';

export interface EngineWork {
  contents: string[];
  maxTokens: number;
}

const { path, sequences, context, onlyLetters } = JSON.parse(process.argv[2] ?? '') as BareOptions;
const logit_bias = Object.fromEntries(onlyLetters.map((token) => [`${token}`, 100]));
const engine = createLlamaEngine({
  modelPath: path,
  sequences,
  contextSize: context,
  threads: 1,
  flashAttention: false,
  log: silent,
  clock: systemClock,
});
await engine.start();
process.once('SIGTERM', () => void engine.stop().then(() => process.exit(0)));

process.on('message', ({ contents, maxTokens }: EngineWork) => {
  const call = { signal: new AbortController().signal, priority: 'batch' } as const;
  const answers = contents.map(async (content) => {
    const value: ChatRequest = {
      model: 'bench',
      messages: [{ role: 'user', content }],
      max_tokens: maxTokens,
      temperature: 1,
      top_k: 40,
      seed: 7,
      logit_bias,
    };
    const body = await engine.generate({ value, text: '' }, call);
    return body.usage.completion_tokens;
  });
  void Promise.all(answers).then((counts) => process.send?.(counts.reduce((sum, count) => sum + count, 0)));
});
console.log('ready');
