import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApi } from '../support/api.ts';
import type {
  ApiResponse,
  Api,
  BatchBody,
  ErrorBody,
  FileBody,
  ListBody,
  CallOptions,
} from '../support/api.ts';
import { startApp } from '../support/app.ts';
import type { RunningApp } from '../support/app.ts';
import { chatLines } from '../support/batch-lines.ts';

// I6: an object of one org does not exist for another, on any route: the responses are byte-identical.

let running: RunningApp;
let ours: Api;
let theirs: Api;
let ourFile: FileBody;
let ourBatch: BatchBody;

beforeAll(async () => {
  running = await startApp({ keys: [{ org: 'other' }] });
  ours = running.api;
  theirs = createApi(running.url, running.keys[0]!);
  ourFile = await ours.upload(chatLines(5));
  ourBatch = await ours.finished((await ours.createBatch(ourFile.id)).id);
});

afterAll(() => running?.stop());

/** Removes what differs between requests. */
function bare({ status, text }: ApiResponse): { status: number; text: string } {
  return { status, text: text.replaceAll(/req_[0-9a-f]+/g, 'req_') };
}

describe('two orgs', () => {
  it("do not appear in each other's lists", async () => {
    expect((await theirs.get<ListBody<FileBody>>('/v1/files')).data).toEqual([]);
    expect((await theirs.get<ListBody<BatchBody>>('/v1/batches')).data).toEqual([]);
    expect((await ours.get<ListBody<BatchBody>>('/v1/batches')).data).toHaveLength(1);
    expect((await ours.get<ListBody<FileBody>>('/v1/files')).data).toHaveLength(2);
  });

  it.each<[string, (id: { file: string; output: string; batch: string }) => string, CallOptions]>([
    ['the file', ({ file }) => `/v1/files/${file}`, {}],
    ['its content', ({ file }) => `/v1/files/${file}/content`, {}],
    ['the result file', ({ output }) => `/v1/files/${output}/content`, {}],
    ['deleting the file', ({ file }) => `/v1/files/${file}`, { method: 'DELETE' }],
    ['the batch', ({ batch }) => `/v1/batches/${batch}`, {}],
    ['cancelling', ({ batch }) => `/v1/batches/${batch}/cancel`, { method: 'POST' }],
    ['the output', ({ batch }) => `/v1/batches/${batch}/output`, {}],
    ['the errors', ({ batch }) => `/v1/batches/${batch}/errors`, {}],
  ])('get the same bytes for %s of the other org as for an unknown one', async (_, path, sending) => {
    const foreign = await theirs.send(
      path({ file: ourFile.id, output: ourBatch.output_file_id!, batch: ourBatch.id }),
      sending,
    );
    const absent = await theirs.send(path(absentIds()), sending);
    expect(foreign.status).toBe(404);
    expect(bare(foreign)).toEqual(bare(absent));
  });

  it("cannot run each other's files", async () => {
    const create = async (id: string) =>
      theirs.send('/v1/batches', {
        json: { endpoint: '/v1/chat/completions', completion_window: '24h', input_file_id: id },
      });
    const foreign = await create(ourFile.id);
    expect(foreign.status).toBe(422);
    expect((JSON.parse(foreign.text) as ErrorBody).error.param).toBe('input_file_id');
    expect(bare(foreign)).toEqual(bare(await create(absentIds().file)));
  });

  it('have separate cursors: a foreign ID pages through nothing of the other org', async () => {
    const page = await theirs.get<ListBody<BatchBody>>(`/v1/batches?after=${ourBatch.id}`);
    expect(page).toMatchObject({ data: [], has_more: false });
  });

  it('have separate Idempotency-Keys', async () => {
    const json = { endpoint: '/v1/chat/completions', completion_window: '24h', requests: chatLines(1) };
    const headers = { 'idempotency-key': 'the-same-key' };
    const [first, second] = await Promise.all([
      ours.send('/v1/batches', { json, headers }),
      theirs.send('/v1/batches', { json, headers }),
    ]);
    expect([first.status, second.status]).toEqual([201, 201]);
    expect((JSON.parse(first.text) as BatchBody).id).not.toBe((JSON.parse(second.text) as BatchBody).id);
  });

  it('are still complete afterwards', async () => {
    expect((await ours.batch(ourBatch.id)).status).toBe('completed');
    expect((await ours.send(`/v1/files/${ourFile.id}`)).status).toBe(200);
  });
});

// IDs of the right form that do not exist.
function absentIds(): { file: string; output: string; batch: string } {
  const last = (id: string) => id.slice(0, -4) + (id.endsWith('0000') ? '1111' : '0000');
  return {
    file: last(ourFile.id),
    output: last(ourBatch.output_file_id!),
    batch: last(ourBatch.id),
  };
}
