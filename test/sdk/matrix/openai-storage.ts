import { expect } from 'vitest';
import { chatLine, chatLines, jsonl, parseLines } from '../../support/batch-lines.ts';
import { until } from '../../support/until.ts';
import type { OpenAICell } from './cells.ts';
import type { OpenAICase } from './openai-case.ts';

const model = 'default';

type StorageCell = Extract<OpenAICell, 'embeddings' | 'files' | 'batches' | 'models'>;

export const openaiStorage: Record<StorageCell, (of: OpenAICase) => Promise<void>> = {
  // The client requests base64 by default.
  async embeddings({ client }) {
    const input = ['night', 'day'];
    const packed = await client.embeddings.create({ model, input });
    const plain = await client.embeddings.create({ model, input, encoding_format: 'float' });
    expect(packed.data).toHaveLength(2);
    for (const [n, { embedding }] of packed.data.entries()) {
      expect(embedding).toHaveLength(64);
      for (const [at, value] of plain.data[n]!.embedding.entries())
        expect(Math.abs(value - embedding[at]!)).toBeLessThan(1e-6);
    }
    expect(plain.data[0]!.embedding).not.toEqual(plain.data[1]!.embedding);
    expect(packed.usage.prompt_tokens).toBeGreaterThan(0);
  },

  async files({ client, sdk }) {
    const content = jsonl(chatLines(5));
    const made: string[] = [];
    for (const name of ['a.jsonl', 'b.jsonl', 'c.jsonl']) {
      const file = new File([content], name);
      const { id, filename, bytes } = await client.files.create({ file, purpose: 'batch' });
      expect([filename, bytes]).toEqual([name, content.length]);
      made.push(id);
    }
    const listed: string[] = [];
    for await (const { id } of client.files.list({ purpose: 'batch', limit: 2 })) listed.push(id);
    expect(listed.filter((id) => made.includes(id))).toEqual(made.toReversed());
    const [id] = made;
    expect(await client.files.retrieve(id!)).toMatchObject({ id, status: 'processed' });
    expect(await client.files.waitForProcessing(id!)).toMatchObject({ id });
    expect(await (await client.files.content(id!)).text()).toBe(content);
    expect(await client.files.delete(id!)).toMatchObject({ id, object: 'file', deleted: true });
    await expect(client.files.retrieve(id!)).rejects.toThrow(sdk.NotFoundError);
  },

  async batches({ client }) {
    const lines = [...chatLines(5), chatLine('refused', '[[fail 400]]')];
    const file = await client.files.create({
      file: new File([jsonl(lines)], 'in.jsonl'),
      purpose: 'batch',
    });
    const { id } = await client.batches.create({
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
      input_file_id: file.id,
      metadata: { team: 'night' },
    });
    const batch = await until('the batch ends', async () => {
      const now = await client.batches.retrieve(id);
      return now.status === 'completed' && now;
    });
    expect(batch.request_counts).toEqual({ total: 6, completed: 5, failed: 1 });
    expect(batch.metadata).toEqual({ team: 'night' });
    const output = parseLines(await (await client.files.content(batch.output_file_id!)).text());
    expect(new Set(output.map((line) => line.response?.body.choices[0]?.message.content))).toEqual(
      new Set(chatLines(5).map((line) => `Echo: ${line.custom_id}`)),
    );
    const errors = parseLines(await (await client.files.content(batch.error_file_id!)).text());
    expect(errors.map((line) => line.custom_id)).toEqual(['refused']);
    const listed = [];
    for await (const each of client.batches.list({ limit: 1 })) listed.push(each.id);
    expect(listed).toContain(id);
    const { data } = await client.files.list({ purpose: 'batch_output' });
    expect(data.map((each) => each.id)).toContain(batch.output_file_id);
  },

  async models({ client }) {
    const ids: string[] = [];
    for await (const each of client.models.list()) ids.push(each.id);
    expect(ids).toEqual(['tiny', 'weather']);
    expect(await client.models.retrieve('default')).toMatchObject({ id: 'tiny', object: 'model' });
  },
};
