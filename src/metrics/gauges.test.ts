import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { createManualClock } from '../../test/support/manual-clock.ts';
import type { ReplicaState } from '../core/replica-state.ts';
import type { WaitingCause } from '../core/waiting.ts';
import type { ModelWork } from '../core/work-left.ts';
import { sumOpen } from '../core/open-sums.ts';
import type { OpenBatch } from '../store/contract/batches.ts';
import { createGauges, type GaugesDeps } from './gauges.ts';

const clock = createManualClock();
const now = clock.now();

const batch = (id: string, more: Partial<OpenBatch> = {}): OpenBatch => ({
  id,
  orgId: 'o',
  keyId: 'key_1',
  keyFamily: null,
  model: 'tiny',
  due: now,
  total: 10,
  ok: 3,
  err: 1,
  createdAt: now - 60_000,
  inProgressAt: now,
  expiresAt: now + 3_600_000,
  pausedAt: null,
  pausedMs: 0,
  est: 0,
  atRiskAt: null,
  ...more,
});

const server: ReplicaState = {
  name: 'http://gpu',
  health: 'up',
  slots: 8,
  configured: null,
  discovered: null,
  gaveWay: 0,
  slowdown: null,
  inFlight: 5,
  waiting: null,
};

function read(
  open: () => Promise<OpenBatch[]>,
  waiting: () => WaitingCause | null = () => null,
  models: ModelWork[] = [],
) {
  const registry = new Registry();
  const catalog = { list: () => [{ id: 'tiny' }] } as unknown as GaugesDeps['catalog'];
  const capacity = {
    replicas: () => [{ ...server, health: waiting() ? 'open' : 'up' }],
    interactiveLoad: () => ({ tiny: 2 }),
    waiting,
  } as GaugesDeps['capacity'];
  const readings = createGauges(registry, {
    catalog,
    capacity,
    waitingDeliveries: () => Promise.resolve({ count: 3, oldestAt: clock.now() - 30_000 }),
    openWork: async () => ({ open: sumOpen(await open()), models }),
    orgWaits: (orgId) => ({ spent: 'budget', disabled: 'org_disabled' }[orgId] as 'budget') ?? null,
    time: clock,
    clock,
    version: '1.2.3',
  });
  return async () => {
    await readings.read();
    return registry.metrics();
  };
}

describe('readings', () => {
  it('tell of the open batches of each model, however many there are', async () => {
    const rest = Array.from({ length: 1_999 }, (_, n) => batch(`b-${n}`));
    const first = batch('old', { createdAt: now - 90_000, expiresAt: now + 60_000 });
    const others = [batch('risk', { atRiskAt: now }), batch('two', { model: null })];
    const text = await read(() => Promise.resolve([first, ...rest, ...others]))();
    expect(text).toContain('offpeak_open_batches{model="tiny"} 2001\n');
    expect(text).toContain('offpeak_open_batches{model="several"} 1\n');
    expect(text).toContain(`offpeak_open_batch_lines{model="tiny"} ${2_001 * 6}\n`);
    expect(text).toContain('offpeak_oldest_batch_age_seconds{model="tiny"} 90\n');
    expect(text).toContain('offpeak_next_batch_expiry_seconds{model="tiny"} 60\n');
    expect(text).toContain('offpeak_batches_at_risk{model="tiny"} 1\n');
  });

  it('count batches that wait for money apart from those that are at risk', async () => {
    const spent = batch('spent', { orgId: 'spent', atRiskAt: now });
    const disabled = batch('disabled', { orgId: 'disabled', atRiskAt: now });
    const text = await read(() =>
      Promise.resolve([spent, disabled, batch('late', { atRiskAt: now }), batch('fine')]),
    )();
    expect(text).toContain('offpeak_batches_at_risk{model="tiny"} 1\n');
    expect(text).toContain('offpeak_batches_out_of_budget{model="tiny"} 1\n');
  });

  it('tell the work left, and its time only where a rate is known', async () => {
    const left = { requests: 40, tokens: 9_000, orgs: [] };
    const text = await read(
      () => Promise.resolve([]),
      () => null,
      [
        { ...left, model: 'tiny', seconds: 90, slackSeconds: -30, neededTokensPerSecond: 20.5 },
        { ...left, model: 'big', seconds: null, slackSeconds: null, neededTokensPerSecond: 0.5 },
      ],
    )();
    expect(text).toContain('offpeak_work_left_requests{model="big"} 40\n');
    expect(text).toContain('offpeak_work_left_tokens{model="tiny"} 9000\n');
    expect(text).toContain('offpeak_work_left_seconds{model="tiny"} 90\n');
    expect(text).toContain('offpeak_slack_seconds{model="tiny"} -30\n');
    expect(text).not.toMatch(/offpeak_(work_left_seconds|slack_seconds)\{model="big"/);
    expect(text).toContain('offpeak_all_work_left_requests 80\n');
    expect(text).toContain('offpeak_needed_tokens_per_second{model="tiny"} 20.5\n');
    expect(text).toContain('offpeak_needed_tokens_per_second{model="big"} 0.5\n');
  });

  it('forget what is over', async () => {
    let cause: WaitingCause | null = {
      scope: 'model',
      code: 'upstream_error',
      message: 'It is away.',
      since: now - 5_000,
    };
    let open = [batch('a')];
    const scrape = read(
      () => Promise.resolve(open),
      () => cause,
    );
    const before = await scrape();
    expect(before).toContain('offpeak_model_waiting_seconds{model="tiny",reason="engine_unavailable"} 5\n');
    expect(before).toContain('offpeak_server_health{model="tiny",server="http://gpu",health="open"} 1\n');
    expect(before).toContain('offpeak_server_health{model="tiny",server="http://gpu",health="up"} 0\n');
    [cause, open] = [null, []];
    const after = await scrape();
    expect(after).not.toContain('offpeak_model_waiting_seconds{');
    expect(after).not.toContain('offpeak_open_batches{');
    expect(after).toContain('offpeak_server_health{model="tiny",server="http://gpu",health="up"} 1\n');
  });

  it('tell of this process while the database is silent', async () => {
    const answer = Promise.withResolvers<OpenBatch[]>();
    const scrape = read(() => answer.promise);
    const texts = Promise.all([scrape(), scrape()]);
    await clock.advance(2_000);
    for (const text of await texts) {
      expect(text).toContain('offpeak_database_up 0\n');
      expect(text).toContain('offpeak_interactive_requests{model="tiny"} 2\n');
      expect(text).toContain('offpeak_server_in_flight{model="tiny",server="http://gpu"} 5\n');
    }
    answer.resolve([batch('a')]);
    await answer.promise;
    expect(await scrape()).toContain('offpeak_open_batches{model="tiny"} 1\n');
    expect(clock.pending).toBe(0);
  });

  it('tell what runs', async () => {
    const text = await read(() => Promise.resolve([]))();
    expect(text).toContain('offpeak_info{version="1.2.3"} 1\n');
  });

  it('tell how many webhook deliveries wait, and for how long', async () => {
    const text = await read(() => Promise.resolve([]))();
    expect(text).toContain('offpeak_webhook_deliveries_waiting 3\n');
    expect(text).toContain('offpeak_webhook_oldest_delivery_age_seconds 30\n');
  });

  it('tell that the database refuses', async () => {
    const text = await read(() => Promise.reject(new Error('no')))();
    expect(text).toContain('offpeak_database_up 0\n');
    expect(text).not.toMatch(/^offpeak_webhook_deliveries_waiting /m);
    expect(text).toContain('offpeak_server_slots{model="tiny",server="http://gpu"} 8\n');
  });
});
