import { afterAll, beforeAll, expect, it } from 'vitest';
import { ApiError } from '../../src/core/errors.ts';
import { chatLines } from './support/jsonl.ts';
import { uploadForm } from './support/multipart.ts';
import { type RunningServer, startServer } from './support/start-server.ts';

// Attack 5: while the disk is almost full, only running batches are stored.

let isLow = false;
let app: RunningServer;
beforeAll(async () => {
  app = await startServer({
    requireDisk() {
      if (isLow) throw new ApiError('insufficient_storage', 'Almost full.');
    },
  });
});
afterAll(() => app?.stop());

const messages = [{ role: 'user', content: 'hi [[tokens 1]]' }];
const upload = () => app.call('POST', '/v1/files', uploadForm(chatLines(1)));
const batch = (input: object) =>
  app.call('POST', '/v1/batches', {
    json: { endpoint: '/v1/chat/completions', completion_window: '24h', ...input },
  });

it('refuses files, batches and stored answers, and answers everything else (attack 5)', async () => {
  const file = (await upload()).json.id as string;
  const running = (await batch({ input_file_id: file })).json.id as string;
  isLow = true;
  const line = JSON.parse(chatLines(1)) as object;
  const refused = {
    upload,
    'a batch of a file': () => batch({ input_file_id: file }),
    'a batch of requests': () => batch({ requests: [line] }),
    'a response': () => app.call('POST', '/v1/responses', { json: { model: 'tiny', input: 'hi' } }),
    'a chat completion': () =>
      app.call('POST', '/v1/chat/completions', { json: { model: 'tiny', messages, store: true } }),
    'a conversation': () => app.call('POST', '/v1/conversations', { json: {} }),
  };
  for (const [what, send] of Object.entries(refused)) {
    const { status, json } = await send();
    expect([what, status, json.error?.code]).toEqual([what, 507, 'insufficient_storage']);
  }
  const answered = [
    await app.call('POST', '/v1/chat/completions', { json: { model: 'tiny', messages } }),
    await app.call('POST', '/v1/responses', {
      json: { model: 'tiny', input: 'hi [[tokens 1]]', store: false },
    }),
    await app.call('GET', `/v1/files/${file}/content`),
    await app.call('GET', '/v1/files'),
  ];
  expect(answered.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  await expect
    .poll(async () => (await app.call('GET', `/v1/batches/${running}`)).json.status as string)
    .toBe('completed');
  isLow = false;
  expect((await upload()).status).toBe(201);
});
