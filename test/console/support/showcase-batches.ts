import type { Api } from '../../support/api.ts';
import { chatLine, jsonl, type Line } from '../../support/batch-lines.ts';
import { failures } from './showcase-upstream.ts';

interface BatchPlan {
  name: string;
  model: string;
  lines: number;
  /** Every so many lines fail; none by default. */
  failEvery?: number;
  /** Metadata beside the name. */
  metadata?: Readonly<Record<string, string>>;
  /** True for answers that are JSON objects. */
  isJson?: boolean;
}

/** Uploads a file and creates a batch of it. Returns its id. */
export async function createBatch(api: Api, plan: BatchPlan): Promise<string> {
  const { name, model, lines: count, failEvery = 0, metadata, isJson } = plan;
  const id = name.split(' ')[0]!.toLowerCase();
  const lines = Array.from({ length: Math.max(count, 3) }, (_, n): Line => {
    const fails = failEvery > 0 && n % failEvery === failEvery - 1;
    const mark = fails ? failures[Math.floor(n / failEvery) % failures.length]!.mark : '';
    const body = { model, max_tokens: 400, ...(isJson && { response_format: decision }) };
    return chatLine(`${id}-${n + 1}`, `${mark}${promptAt(n)}`, body);
  });
  const fileId = await upload(api, `${name.toLowerCase().replaceAll(/\W+/g, '-')}.jsonl`, jsonl(lines));
  return (await api.createBatch(fileId, { metadata: { name, ...metadata } })).id;
}

async function upload(api: Api, name: string, content: string): Promise<string> {
  const form = new FormData();
  form.set('purpose', 'batch');
  form.set('file', new Blob([content]), name);
  const { status, text } = await api.send('/v1/files', { body: form });
  if (status !== 201) throw new Error(`the upload was answered ${status}: ${text}`);
  return (JSON.parse(text) as { id: string }).id;
}

const prompts = [
  'Describe a waterproof hiking jacket in two sentences.',
  'Which team should handle this ticket: "My invoice shows the wrong address"?',
  'Translate into French: "Free returns within 30 days."',
  'Summarise the call in one sentence.',
  'Which team should handle this ticket: "The parcel has been in Lyon for two weeks"?',
  'Name three keywords for the product "Merino base layer, women".',
];

function promptAt(n: number): string {
  return `${prompts[n % prompts.length]} (${n + 1})`;
}

const decision = {
  type: 'json_schema',
  json_schema: {
    name: 'decision',
    schema: {
      type: 'object',
      properties: {
        team: { type: 'string' },
        priority: { type: 'integer' },
        reason: { type: 'string' },
        refund: { type: 'boolean' },
      },
      required: ['team', 'priority'],
    },
  },
};
