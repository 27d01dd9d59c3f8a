import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type MetadataValue, type Tensor, type TensorType, writeGguf } from './gguf-writer.ts';
import { seeded } from './random-json.ts';

export interface RandomModelOptions {
  seed?: number;
  contextLength?: number;
  type?: Exclude<TensorType, 'F32'>;
  width?: number;
  layers?: number;
  template?: string;
  /** Control tokens beside the usual ones. */
  control?: readonly string[];
  /** Text tokens beside the usual ones. */
  words?: readonly string[];
}

const special = ['<|endoftext|>', '<|im_start|>', '<|im_end|>', '<|pad|>'];

/** ChatML with the tools as JSON, as the Hermes and Qwen families use it. */
const chatml =
  "{% if tools %}{{ '<|im_start|>system\\n' }}{% for tool in tools %}{{ tool | tojson }}{{ '\\n' }}{% endfor %}" +
  "{{ 'Answer with <tool_call></tool_call>.<|im_end|>\\n' }}{% endif %}" +
  "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content }}" +
  '{% if message.tool_calls %}{% for call in message.tool_calls %}' +
  '{{ \'<tool_call>{"name":"\' + call.function.name + \'","arguments":\' + (call.function.arguments | tojson) + \'}</tool_call>\' }}' +
  "{% endfor %}{% endif %}{{ '<|im_end|>\\n' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/**
 * Writes a llama model with random weights: any token may follow any other, which makes it the hardest test of the
 * guarantees, without a file in the repository. The same options give the same bytes.
 */
export function writeRandomModel(path: string, options: RandomModelOptions = {}): number {
  const { metadata, tensors } = randomModel(options);
  return writeGguf(path, metadata, tensors);
}

/** Writes the same model in two files, like llama.cpp's gguf-split; returns their paths. */
export function writeSplitModel(folder: string, options: RandomModelOptions = {}): [string, string] {
  const { metadata, tensors } = randomModel(options);
  const middle = Math.ceil(tensors.length / 2);
  const write = (part: number, own: Model): string => {
    const path = join(folder, `random-0000${part + 1}-of-00002.gguf`);
    const split: Record<string, MetadataValue> = {
      'split.no': { type: 'u16', value: part },
      'split.count': { type: 'u16', value: 2 },
      'split.tensors.count': { type: 'i32', value: tensors.length },
    };
    writeGguf(path, { ...own.metadata, ...split }, own.tensors);
    return path;
  };
  return [
    write(0, { metadata, tensors: tensors.slice(0, middle) }),
    write(1, { metadata: {}, tensors: tensors.slice(middle) }),
  ];
}

interface Model {
  metadata: Record<string, MetadataValue>;
  tensors: Tensor[];
}

function randomModel(options: RandomModelOptions): Model {
  const {
    seed = 1,
    contextLength = 4096,
    type = 'Q8_0',
    width = 64,
    layers = 2,
    template = chatml,
    control = [],
    words = [],
  } = options;
  const heads = 4;
  const hidden = width * 2;
  const { tokens, types, merges } = vocabulary(control, words);
  const metadata: Record<string, MetadataValue> = {
    'general.architecture': { type: 'string', value: 'llama' },
    'general.type': { type: 'string', value: 'model' },
    'general.name': { type: 'string', value: 'random' },
    'general.file_type': { type: 'u32', value: type === 'Q8_0' ? 7 : 1 },
    'general.quantization_version': { type: 'u32', value: 2 },
    'llama.context_length': { type: 'u32', value: contextLength },
    'llama.embedding_length': { type: 'u32', value: width },
    'llama.block_count': { type: 'u32', value: layers },
    'llama.feed_forward_length': { type: 'u32', value: hidden },
    'llama.attention.head_count': { type: 'u32', value: heads },
    'llama.attention.head_count_kv': { type: 'u32', value: heads },
    'llama.attention.layer_norm_rms_epsilon': { type: 'f32', value: 1e-5 },
    'llama.rope.dimension_count': { type: 'u32', value: width / heads },
    'llama.rope.freq_base': { type: 'f32', value: 10_000 },
    'llama.vocab_size': { type: 'u32', value: tokens.length },
    'tokenizer.ggml.model': { type: 'string', value: 'gpt2' },
    'tokenizer.ggml.pre': { type: 'string', value: 'gpt-2' },
    'tokenizer.ggml.tokens': { type: 'strings', value: tokens },
    'tokenizer.ggml.token_type': { type: 'i32s', value: types },
    'tokenizer.ggml.merges': { type: 'strings', value: merges },
    'tokenizer.ggml.bos_token_id': { type: 'u32', value: 0 },
    'tokenizer.ggml.eos_token_id': { type: 'u32', value: 2 },
    'tokenizer.ggml.padding_token_id': { type: 'u32', value: 3 },
    'tokenizer.ggml.add_bos_token': { type: 'bool', value: false },
    'tokenizer.ggml.add_eos_token': { type: 'bool', value: false },
    'tokenizer.chat_template': { type: 'string', value: template },
  };
  const noise = gaussian(seeded(seed));
  const matrix = (
    name: string,
    columns: number,
    rows: number,
    deviation = 1 / Math.sqrt(columns),
  ): Tensor => ({
    name: `${name}.weight`,
    dimensions: [columns, rows],
    type,
    data: Float32Array.from({ length: columns * rows }, () => noise() * deviation),
  });
  const norm = (name: string): Tensor => ({
    name: `${name}.weight`,
    dimensions: [width],
    type: 'F32',
    data: new Float32Array(width).fill(1),
  });
  const blocks = Array.from({ length: layers }, (_, index) => `blk.${index}`).flatMap((block) => [
    norm(`${block}.attn_norm`),
    ...['attn_q', 'attn_k', 'attn_v', 'attn_output'].map((name) => matrix(`${block}.${name}`, width, width)),
    norm(`${block}.ffn_norm`),
    matrix(`${block}.ffn_gate`, width, hidden),
    matrix(`${block}.ffn_up`, width, hidden),
    matrix(`${block}.ffn_down`, hidden, width),
  ]);
  const tensors = [
    matrix('token_embd', width, tokens.length, 1),
    ...blocks,
    norm('output_norm'),
    matrix('output', width, tokens.length),
  ];
  return { metadata, tensors };
}

/** Temporary folder with a random model. */
export function randomModelFile(options: RandomModelOptions = {}): { path: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'offpeak-model-'));
  const path = join(folder, 'random.gguf');
  writeRandomModel(path, options);
  return { path, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Control tokens, every byte, a few merged pairs, and unused tokens up to a multiple of 32. */
function vocabulary(
  control: readonly string[],
  words: readonly string[],
): { tokens: string[]; types: number[]; merges: string[] } {
  const kinds = { normal: 1, control: 3, unused: 5 };
  const letters = byteLetters();
  const space = letters[0x20]!;
  const pairs = ['t h', 'th e', `${space} the`, 'i n', `${space} a`, 'e r', 'a n', 'o n'];
  const tokens = [
    ...special,
    ...letters,
    ...pairs.map((pair) => pair.replace(' ', '')),
    ...control,
    ...words,
  ];
  const controls = new Set([...special, ...control]);
  const types: number[] = tokens.map((token) => (controls.has(token) ? kinds.control : kinds.normal));
  while (tokens.length % 32 !== 0) {
    tokens.push(`<|unused_${tokens.length}|>`);
    types.push(kinds.unused);
  }
  return { tokens, types, merges: pairs };
}

/** Printable letter that stands for a byte in GPT-2's tokenizer. */
function byteLetters(): string[] {
  const isPrintable = (byte: number): boolean =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
  let others = 0;
  return Array.from({ length: 256 }, (_, byte) =>
    String.fromCodePoint(isPrintable(byte) ? byte : 256 + others++),
  );
}

/** Standard normal numbers (Box–Muller). */
function gaussian(random: () => number): () => number {
  return () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
