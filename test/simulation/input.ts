import { crc32 } from 'node:zlib';
import type { StoredFile } from '../../src/core/file.ts';
import type { InputIndex } from '../../src/files/input-index.ts';
import { prefixHashes, prefixLevels } from '../../src/files/prefix-hashes.ts';
import type { BatchPlan, LineKind, LinePlan } from './plan.ts';

/** Input file as an upload stores it. */
export interface Input {
  file: StoredFile;
  bytes: Uint8Array;
  index: InputIndex;
}

export const customIdOf = (batch: string, line: number) => `${batch}:${line}`;
/** Marker in the prompt of a line, which makes its answer unique. */
export const subjectOf = (batch: string, line: number) => `item ${batch} ${line}`;

/** Expected result of a line unless its batch ends early; null if it depends on chance. */
export function fateOf(kind: LineKind, model: string): { stream: 'output' | 'errors'; code?: string } | null {
  if (model === 'gone') return { stream: 'errors', code: 'model_not_found' };
  if (kind === 'bad') return { stream: 'errors', code: 'request_refused' };
  if (kind === 'broken') return { stream: 'errors', code: 'upstream_error' };
  if (kind === 'closed') return { stream: 'errors', code: 'engine_overloaded' };
  if (kind === 'unschemed') return { stream: 'errors', code: 'schema_not_met' };
  return kind === 'shaky' || kind === 'forbidden' ? null : { stream: 'output' };
}

export const directives: Record<LineKind, string> = {
  plain: '',
  slow: '',
  late: '',
  bad: '[[fail 400]]',
  broken: '[[fail 500]]',
  shaky: '[[fail 502 1]]',
  refused: '[[fail 503 2]]',
  unreachable: '[[fail unreachable 1]]',
  unschemed: '[[bad-schema]]',
  forbidden: '[[fail 403]]',
  closed: '[[fail 503]]',
  filtered: '(filtered)',
};

const encoder = new TextEncoder();
const systems = [0, 1, 2].map((n) => `You are assistant number ${n}. ${'Answer in one word. '.repeat(60)}`);

export function makeInput(plan: BatchPlan, now: number): Input {
  const bodies = plan.lines.map((line, at) => bodyOf(plan, line, subjectOf(plan.name, at)));
  const lines = bodies.map((body, at) =>
    encoder.encode(
      JSON.stringify({ custom_id: customIdOf(plan.name, at), method: 'POST', url: plan.endpoint, body }),
    ),
  );
  const models = [...new Set(plan.lines.map((line) => line.model))];
  const index: InputIndex = {
    count: lines.length,
    models,
    offset: new Float64Array(lines.length),
    length: Uint32Array.from(lines, (line) => line.length),
    model: Uint16Array.from(plan.lines, (line) => models.indexOf(line.model)),
    est: Uint32Array.from(lines, (line) => Math.ceil(line.length / 4) + (plan.maxTokens ?? 512)),
    hashes: new Uint32Array(lines.length * prefixLevels),
    sum: Uint32Array.from(lines, (line) => crc32(line)),
  };
  let bytes = 0;
  for (const [at, line] of lines.entries()) {
    index.offset[at] = bytes;
    bytes += line.length + 1;
    const body = bodies[at]!;
    if ('messages' in body) index.hashes.set(prefixHashes(body), at * prefixLevels);
  }
  const blobId = `blob_${plan.name}`;
  return {
    index,
    bytes: new Uint8Array(Buffer.concat(lines.flatMap((line) => [line, encoder.encode('\n')]))),
    file: {
      id: `file-${plan.name}`,
      orgId: plan.orgId,
      keyId: null,
      purpose: 'batch',
      filename: `${plan.name}.jsonl`,
      bytes,
      blobId,
      sha256: '',
      requests: lines.length,
      endpoint: plan.endpoint,
      warnings: [],
      createdAt: now,
      expiresAt: null,
    },
  };
}

function bodyOf(plan: BatchPlan, line: LinePlan, subject: string) {
  const prompt = `${subject} [[delay ${line.delayMs}]]${directives[line.kind]}`;
  if (plan.endpoint === '/v1/embeddings') return { model: line.model, input: prompt };
  const messages = [{ role: 'user' as const, content: prompt }];
  const system = line.system === null ? [] : [{ role: 'system' as const, content: systems[line.system]! }];
  const format = {
    type: 'json_schema',
    json_schema: { name: 'x', schema: { type: 'object', required: ['answer'] } },
  };
  return {
    model: line.model,
    messages: [...system, ...messages],
    ...(line.kind === 'unschemed' && { response_format: format }),
  };
}
