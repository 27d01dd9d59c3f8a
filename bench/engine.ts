import { fileURLToPath } from 'node:url';
import type { ChildProcess } from 'node:child_process';
import { randomModelFile } from '../test/engines/llama/random-model.ts';
import type { BareOptions, BareWork } from './support/bare-llama.ts';
import type { EngineWork } from './support/offpeak-llama.ts';
import { readTreeCpuMs, firstLine, start, stop } from './support/processes.ts';
import { median } from './support/report.ts';
import type { Report, Workload } from './support/report.ts';

const sequences = 8;
const context = 512;
const rounds = 9;
const requests = 64;
const maxTokens = 64;

/** Overhead of the engine layer over its library. */
export const engine: Workload = {
  name: 'engine',
  about: `${requests} chats of ${maxTokens} tokens on ${sequences} sequences of a tiny model with random weights: tokens per CPU second of the embedded engine, both processes, compared with node-llama-cpp alone in a process.`,

  async run(): Promise<Report> {
    const model = randomModelFile({ seed: 5, contextLength: context, width: 128 });
    const onlyLetters = Array.from({ length: 20 }, (_, n) => 69 + n);
    const options: BareOptions = { path: model.path, sequences, context, onlyLetters };
    const bare = await startChild('bare-llama.ts', options);
    const own = await startChild('offpeak-llama.ts', options);
    try {
      const contents = Array.from(
        { length: requests },
        // Prompts differ at the start, so that prefix caching has no effect.
        (_, n) => `${n} letters came in; who signed the first?`,
      );
      const work: EngineWork = { contents, maxTokens };
      // Equal to the output of our template.
      const prompts = contents.map(
        (content) => `<|im_start|>user\n${content}<|im_end|>\n<|im_start|>assistant\n`,
      );
      const bareWork: BareWork = { prompts, maxTokens };
      const figures: { bare: number; own: number }[] = [];
      for (let round = -1; round < rounds; round++) {
        const pair = { bare: await tokensPerSecond(bare, bareWork), own: await tokensPerSecond(own, work) };
        // The first round warms both up.
        if (round >= 0) figures.push(pair);
      }
      return {
        figures: [
          {
            name: 'tokens a CPU second, of node-llama-cpp alone',
            value: median(figures.map(({ bare: one, own: other }) => other / one)),
            atLeast: 0.9,
          },
          { name: 'embedded engine', value: median(figures.map((each) => each.own)), unit: 'tokens/CPU s' },
          {
            name: 'node-llama-cpp alone',
            value: median(figures.map((each) => each.bare)),
            unit: 'tokens/CPU s',
          },
        ],
        notes: [
          `Medians of ${rounds} alternating rounds, ratios within a round. The model is so small that nearly all is overhead.`,
          `By itself, the library evaluates a batch before the last sequence requests its next token: ${sequences - 1} of ${sequences} at a time. The engine waits for all ${sequences}.`,
        ],
      };
    } finally {
      await Promise.all([stop(bare, 'SIGKILL'), stop(own)]);
      model.remove();
    }
  },
};

async function startChild(file: string, options: BareOptions): Promise<ChildProcess> {
  const script = fileURLToPath(new URL(`support/${file}`, import.meta.url));
  // Same settings as the engine: one sampling thread, because with more the library may mix up answers, and a lower
  // priority, because on a busy machine a process that is interrupted more often needs more CPU for the same work.
  const equal = file === 'bare-llama.ts' ? ['UV_THREADPOOL_SIZE=1', 'nice', '-n', '10'] : [];
  const values = [...equal, process.execPath, script, JSON.stringify(options)];
  const child = start('target', 'env', values, { ipc: true });
  await firstLine(child);
  return child;
}

async function tokensPerSecond(child: ChildProcess, work: BareWork | EngineWork): Promise<number> {
  const before = readTreeCpuMs(child);
  const tokens = await new Promise<number>((resolve, reject) => {
    const gone = () => reject(new Error('the measured process ended'));
    child.once('exit', gone);
    child.once('message', (count) => {
      child.off('exit', gone);
      resolve(Number(count));
    });
    child.send(work);
  });
  if (tokens < requests * maxTokens * 0.9) throw new Error(`only ${tokens} tokens were generated`);
  return (tokens / (readTreeCpuMs(child) - before)) * 1000;
}
