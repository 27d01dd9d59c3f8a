import { join } from 'node:path';
import type { LlamaModel, Token } from 'node-llama-cpp';
import { packageFolder } from '../../../base/program.ts';
import type { Card, CardChoice, GpuKind } from '../../../core/card.ts';
import { explainFailure } from './explain-failure.ts';
import type { StartLibrary } from './start-library.ts';

/** Line of llama.cpp for each card that it uses, when it loads a model. */
const deviceLine = /using device \S+ \((.+)\) \([^)]*\) - (\d+) MiB free/;
/** Its weights need three megabytes. */
const smallModel = join(packageFolder, 'models', 'offpeak-tiny.gguf');

/**
 * Cards that a build can use, by running a small model on them: llama.cpp chooses among the cards when it loads a model, and a
 * driver that is too old for the code of the build ends the process only at the first token. For a process that does nothing
 * else.
 */
export async function openCards(
  kind: GpuKind,
  folder: string,
  start: StartLibrary,
  explain = explainFailure,
): Promise<CardChoice> {
  const lines: string[] = [];
  try {
    const { llama } = await start({
      kind,
      folder,
      level: 'info',
      log: (line) => lines.push(...line.split('\n')),
    });
    const { total, free, unifiedSize } = await llama.getVramState();
    const names = await llama.getGpuDeviceNames();
    if (llama.gpu !== kind || names.length === 0 || total === 0)
      return { found: null, why: 'its driver reports no card' };
    const model = await llama.loadModel({
      modelPath: smallModel,
      gpuLayers: 99,
      ignoreMemorySafetyChecks: true,
    });
    await generateToken(model);
    await model.dispose();
    const used = lines.flatMap((line): Card[] => {
      const [, name, mebibytes] = deviceLine.exec(line) ?? [];
      return name === undefined ? [] : [{ name, free: Number(mebibytes) * 1024 ** 2 }];
    });
    // Equal shares, if llama.cpp words the line differently.
    const cards = used.length > 0 ? used : names.map((name) => ({ name, free: free / names.length }));
    return { found: { kind, cards, total, isShared: unifiedSize > 0 }, why: null };
  } catch (error) {
    return { found: null, why: await explain(kind, folder, error) };
  }
}

/** Tokens of a prompt, so that the code for batches runs as well as that for single tokens. */
const promptTokens = 64;

async function generateToken(model: LlamaModel): Promise<void> {
  const options = { sequences: 1, contextSize: 256, threads: 1, failedCreationRemedy: false as const };
  const context = await model.createContext({ ...options, ignoreMemorySafetyChecks: true });
  const prompt = Array<Token>(promptTokens).fill(0 as Token);
  let count = 0;
  for await (const _ of context.getSequence().evaluate(prompt, { temperature: 0, yieldEogToken: true }))
    if (++count === 2) break;
  await context.dispose();
}
