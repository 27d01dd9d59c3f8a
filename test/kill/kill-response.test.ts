import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { install, scriptedYaml } from '../support/server-process.ts';
import type { Installation } from '../support/server-process.ts';

interface Response {
  id: string;
  status: string;
}

let place: Installation;

beforeEach(() => void (place = install(scriptedYaml())));
afterEach(() => place.remove());

describe('a server that is killed', () => {
  it.each(['SIGKILL', 'SIGTERM'] as const)(
    'by %s finishes its background responses after the restart, once, and keeps its stored responses',
    async (signal) => {
      const first = await place.start();
      const post = (input: string, more: object = {}) =>
        first.api.post<Response>('/v1/responses', { model: 'tiny', input, ...more });
      const kept = await post('Remember me.');
      const { id: conversation } = await first.api.post<{ id: string }>('/v1/conversations', {});
      await post('In it.', { conversation });
      const slow = await post('[[delay 3000]] slow', { background: true, conversation });
      const done = await post('quick', { background: true });
      await expect
        .poll(async () => (await first.api.get<Response>(`/v1/responses/${done.id}`)).status)
        .toBe('completed');
      expect((await first.api.get<Response>(`/v1/responses/${slow.id}`)).status).toBe('in_progress');
      await first.end(signal);

      const { api } = await place.start();
      await expect
        .poll(async () => (await api.get<Response>(`/v1/responses/${slow.id}`)).status, { timeout: 20_000 })
        .toBe('completed');
      expect((await api.get<Response>(`/v1/responses/${done.id}`)).status).toBe('completed');
      expect(await api.get<Response>(`/v1/responses/${kept.id}`)).toEqual(kept);
      const items = await api.get<{ data: object[] }>(`/v1/conversations/${conversation}/items?order=asc`);
      // The turn of each response is there once.
      expect(items.data).toMatchObject([
        { role: 'user' },
        { role: 'assistant' },
        { role: 'user' },
        { role: 'assistant' },
      ]);
      const next = await api.post<Response>('/v1/responses', {
        model: 'tiny',
        input: 'Go on.',
        previous_response_id: kept.id,
      });
      expect(next.status).toBe('completed');
    },
  );
});
