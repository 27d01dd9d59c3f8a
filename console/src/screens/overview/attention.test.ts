import { describe, expect, it } from 'vitest';
import { collectConcerns } from './attention.ts';
import type { Replica, Webhook } from '../../api/operations.ts';
import type { OpenBatch } from './queries.ts';

const waiting = (reason: string, message = 'Why it waits.') => ({ reason, message, since: '', until: null });

function batch(id: string, more: object = {}): OpenBatch {
  const counts = { total: 100, completed: 10, failed: 0 };
  return {
    id,
    expires_at: '2026-11-29T00:00:00Z',
    waiting: null,
    at_risk: false,
    request_counts: counts,
    error_summary: [],
    metadata: null,
    ...more,
  } as unknown as OpenBatch;
}
const replica = (id: string, more: object): Replica =>
  ({ id, server: `${id}:8000`, model: 'm', waiting: null, ...more }) as unknown as Replica;
const webhook = (id: string, more: object): Webhook =>
  ({ id, name: null, url: `https://${id}`, disabled_reason: null, ...more }) as unknown as Webhook;
const shown = (batches: OpenBatch[], replicas: Replica[] = [], webhooks: Webhook[] = []) =>
  collectConcerns(batches, replicas, webhooks).map(({ id, word, why }) => [id, word, why]);

describe('collectConcerns', () => {
  it('lists risks before waits before failures, each batch once', () => {
    const failed = { request_counts: { total: 100, completed: 90, failed: 10 } };
    const errors = [
      { code: 'a', count: 3, example: '' },
      { code: 'b', count: 7, example: '' },
    ];
    expect(
      shown([
        batch('failing', { ...failed, error_summary: errors }),
        batch('waits', { waiting: waiting('budget'), ...failed }),
        batch('late', { at_risk: true }),
        batch('late and waiting', { at_risk: true, waiting: waiting('engine_unavailable') }),
      ]),
    ).toEqual([
      ['late', 'At risk', 'It will miss its window at the present rate.'],
      ['late and waiting', 'At risk', 'Why it waits.'],
      ['waits', 'Waiting', 'Why it waits.'],
      ['failing', 'Failing', '10 % of the finished requests failed, most with b.'],
    ]);
  });

  it.each(['queued', 'hours', 'paused'])('leaves out the normal wait %s', (reason) => {
    expect(shown([batch('a', { waiting: waiting(reason) })])).toEqual([]);
  });

  it('leaves out few failures, and batches that run', () => {
    expect(
      shown([batch('a', { request_counts: { total: 100, completed: 96, failed: 4 } }), batch('b')]),
    ).toEqual([]);
  });

  it('lists servers that are down, and webhooks that the server disabled', () => {
    expect(
      shown(
        [],
        [
          replica('up', { health: 'up' }),
          replica('down', { health: 'open', waiting: { message: 'Connection refused.' } }),
          replica('drained', { health: 'draining' }),
          replica('trial', { health: 'half-open' }),
        ],
        [webhook('on', {}), webhook('gone', { disabled_reason: 'The receiver answered 410.' })],
      ),
    ).toEqual([
      ['down', 'Server down', 'Connection refused.'],
      ['trial', 'Server down', 'A server of m takes no requests.'],
      ['gone', 'Webhook disabled', 'The receiver answered 410.'],
    ]);
  });

  it('folds batches with the same concern, those due first ahead, into a link to the list', () => {
    const due = (day: number) => `2026-11-${day}T00:00:00Z`;
    const down = Array.from({ length: 9 }, (_, n) =>
      batch(`down ${n}`, { expires_at: due(29 - n), waiting: waiting('engine_unavailable') }),
    );
    const four = Array.from({ length: 4 }, (_, n) => batch(`late ${n}`, { at_risk: true }));
    const found = collectConcerns([...down, ...four], [], []);
    expect(found.slice(0, 4).map(({ id }) => id)).toEqual(four.map(({ id }) => id));
    expect(found.slice(4).map(({ subject, due: at }) => [subject, at])).toEqual([
      ['down 8', due(21)],
      ['down 7', due(22)],
      ['down 6', due(23)],
      ['6 more batches', due(24)],
    ]);
    expect(found.at(-1)!.remedy).toMatchObject({ to: '/batches', search: { waiting: 'engine_unavailable' } });
  });

  it('says what an administrator does about a wait', () => {
    const remedy = (reason: string, more = {}) =>
      collectConcerns([batch('a', { waiting: waiting(reason), ...more })], [], [])[0]!.remedy;
    const own = { org_id: 'org_1' };
    expect(remedy('budget', own)).toMatchObject({ label: 'Raise the budget', search: { org: 'org_1' } });
    expect(remedy('drained', own)).toMatchObject({ label: 'Undrain a server', to: '/operations' });
    expect([remedy('storage_unavailable', own), remedy('budget')]).toEqual([undefined, undefined]);
  });

  it('names batches by their metadata', () => {
    const [first] = collectConcerns([batch('x', { at_risk: true, metadata: { name: 'reviews' } })], [], []);
    expect(first).toMatchObject({ id: 'x', subject: 'reviews', due: '2026-11-29T00:00:00Z' });
  });
});
