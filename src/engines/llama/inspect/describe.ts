import { truncate } from '../../../base/truncate.ts';
import { sum } from '../../../base/sum.ts';
import type { InspectRequest, ModelReport } from '../../../core/model-file.ts';
import { detectFamily } from '../inference/families.ts';
import { layerCount } from '../inference/loading/card-memory.ts';
import { cardMemory, cardNote } from '../inference/loading/card-note.ts';
import { type WantedContext, planContext } from '../inference/loading/memory.ts';
import type { GgufHeader, MetadataValue } from '../gguf/header.ts';
import { type ModelShape, countReader, readShape, vocabularySize } from '../gguf/shape.ts';
import { fileTypes, tensorTypes } from '../gguf/types.ts';

const shownTemplateLines = 3;

/** Describes a model by the headers of its files (`fileBytes` in all) and its fit into `freeBytes` of memory. */
export function describeModel(
  headers: readonly GgufHeader[],
  fileBytes: number,
  wanted: WantedContext,
  freeBytes: number,
  card?: InspectRequest['card'],
): ModelReport {
  const metadata = headers[0]?.metadata ?? new Map<string, MetadataValue>();
  const text = (key: string) => textOf(metadata.get(key));
  const own = countReader(metadata);
  const template = text('tokenizer.chat_template');
  return {
    name: text('general.name'),
    architecture: text('general.architecture') ?? 'unknown',
    parameters: countParameters(headers),
    quantization: findQuantization(headers),
    contextLength: own('context_length'),
    layers: own('block_count'),
    width: own('embedding_length'),
    heads: own('attention.head_count'),
    keyValueHeads: own('attention.head_count_kv') ?? own('attention.head_count'),
    tokenizer: {
      kind: text('tokenizer.ggml.model'),
      pre: text('tokenizer.ggml.pre'),
      vocabulary: vocabularySize(metadata),
    },
    template:
      template === null
        ? null
        : { family: detectFamily(template).name, begins: firstLines(template, shownTemplateLines) },
    files: headers.length,
    fileBytes,
    memory: planMemory(readShape(headers, fileBytes), wanted, freeBytes, card),
  };
}

export function countParameters(headers: readonly GgufHeader[]): number {
  return sum(headers.flatMap(({ tensors }) => tensors.map(({ elements }) => elements)));
}

/** Declared quantization, else the tensor type of most numbers. In a small model that may be the type of the vocabulary. */
export function findQuantization(headers: readonly GgufHeader[]): string {
  const declared = headers[0]?.metadata.get('general.file_type');
  const named = typeof declared === 'number' ? fileTypes[declared] : undefined;
  if (named !== undefined) return named;
  const numbers = new Map<number, number>();
  for (const { type, elements } of headers.flatMap(({ tensors }) => tensors))
    numbers.set(type, (numbers.get(type) ?? 0) + elements);
  const [most] = [...numbers].toSorted(([, a], [, b]) => b - a);
  if (most === undefined) return 'unknown';
  return tensorTypes[most[0]]?.[0] ?? `type ${most[0]}`;
}

/** Memory that the engine would plan with without a limit of the processor, and whether it fits into `freeBytes`. */
function planMemory(
  shape: ModelShape,
  wanted: WantedContext,
  freeBytes: number,
  { choice, reserve }: NonNullable<InspectRequest['card']> = {
    choice: { found: null, why: null },
    reserve: 0,
  },
): ModelReport['memory'] {
  const options = { layers: 'auto' as const, reserve };
  const cards = cardMemory(choice, options);
  const { contextSize } = planContext(shape, wanted, Infinity, cards);
  const plan = planContext(shape, { ...wanted, contextSize }, freeBytes, cards);
  const { cacheBytes, workBytes, misfit, placement } = plan;
  const { kind, cards: found } = choice.found ?? { kind: null, cards: [] };
  const use = { layers: placement.layers, of: layerCount(shape), bytes: sum(placement.cards) };
  return {
    sequences: wanted.sequences,
    context: contextSize,
    weights: shape.fileBytes,
    cache: cacheBytes,
    work: workBytes,
    misfit,
    card: kind && { kind, names: found.map(({ name }) => name), ...use },
    note: cardNote(choice, plan, use.of, options),
  };
}

function textOf(value: MetadataValue | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function firstLines(text: string, count: number): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const shown = lines.slice(0, count).map((line) => truncate(line, 200, '…'));
  return [...shown, ...(lines.length > count ? ['…'] : [])].join('\n');
}
