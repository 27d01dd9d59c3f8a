import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { install, scriptedYaml } from '../support/server-process.ts';
import type { Installation } from '../support/server-process.ts';

interface Response {
  id: string;
  status: string;
  error: { code: string; message: string } | null;
}

let place: Installation;

beforeEach(() => void (place = install(scriptedYaml())));
afterEach(() => place.remove());

describe('a server that is killed', () => {
  it.each(['SIGKILL', 'SIGTERM'] as const)(
    'by %s leaves its unfinished background responses failed, and its stored responses unchanged',
    async (signal) => {
      const first = await place.start();
      const post = (input: string, more: object = {}) =>
        first.api.post<Response>('/v1/responses', { model: 'tiny', input, ...more });
      const kept = await post('Remember me.');
      const { id: conversation } = await first.api.post<{ id: string }>('/v1/conversations', {});
      await post('In it.', { conversation });
      const hanging = await post('[[hang]]', { background: true, conversation });
      const done = await post('quick', { background: true });
      await expect
        .poll(async () => (await first.api.get<Response>(`/v1/responses/${done.id}`)).status)
        .toBe('completed');
      expect((await first.api.get<Response>(`/v1/responses/${hanging.id}`)).status).toBe('in_progress');
      await first.end(signal);

      const { api } = await place.start();
      expect(await api.get<Response>(`/v1/responses/${hanging.id}`)).toMatchObject({
        status: 'failed',
        error: { code: 'server_error', message: expect.stringContaining('stopped before') },
      });
      expect((await api.get<Response>(`/v1/responses/${done.id}`)).status).toBe('completed');
      expect(await api.get<Response>(`/v1/responses/${kept.id}`)).toEqual(kept);
      const items = await api.get<{ data: object[] }>(`/v1/conversations/${conversation}/items?order=asc`);
      expect(items.data).toMatchObject([{ role: 'user' }, { role: 'assistant' }]);
      const next = await api.post<Response>('/v1/responses', {
        model: 'tiny',
        input: 'Go on.',
        previous_response_id: kept.id,
      });
      expect(next.status).toBe('completed');
    },
  );
});
