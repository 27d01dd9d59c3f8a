import { createParser } from 'eventsource-parser';
import { afterAll, expect, it } from 'vitest';
import { chatLines } from '../support/batch-lines.ts';
import { startCountingUpstream } from '../support/counting-upstream.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { install, processKey, upstreamYaml } from '../support/server-process.ts';
import { until } from '../support/until.ts';

// Two processes on one Postgres: the stream of one shows what the other does.

const postgres = await startPostgres();

if ('reason' in postgres) it.skip(`streams of two processes (skipped: ${postgres.reason})`, () => {});
else streamTests(postgres);

interface Seen {
  event: string | undefined;
  id: string;
  status: string;
  completed: number;
}

function streamTests(database: PostgresServer): void {
  afterAll(() => database.stop());

  it('shows a batch that another process runs and deletes, while it does', async ({ onTestFinished }) => {
    const upstream = await startCountingUpstream({ delayMs: 5 });
    onTestFinished(() => upstream.close());
    const endpoints = 'batch: { endpoints: [/v1/chat/completions, /v1/messages] }';
    const more = `database: ${await database.createDatabase()}\n${endpoints}\n`;
    const installation = install(upstreamYaml(upstream.url, { more }).replaceAll('tiny', 'other'));
    onTestFinished(() => installation.remove());
    // It serves another model, so that it cannot run the batch.
    const watching = await installation.start();
    installation.configure(upstreamYaml(upstream.url, { slots: 2, more }));
    const running = await installation.start();
    const seen = follow(watching.url);
    await until('the stream is open', () => seen[0]?.event === 'ready');

    // Half of the answers wait, so that the batch is seen in between.
    upstream.holdAfter = 20;
    const params = { model: 'tiny', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] };
    const requests = chatLines(40).map(({ custom_id }) => ({ custom_id, params }));
    const created = await running.api.send('/v1/messages/batches', { json: { requests } });
    expect(created.status, created.text).toBe(200);
    const { id } = JSON.parse(created.text) as { id: string };
    const last = () => seen.findLast((event) => event.id === id);
    await until('progress is seen', () => last()?.status === 'in_progress' && last()!.completed > 0);
    expect(last()!.completed).toBeLessThan(40);
    upstream.release();
    await until('its end is seen', () => last()?.status === 'completed');
    expect(last()!.completed).toBe(40);

    const deleted = await running.api.send(`/v1/messages/batches/${id}`, { method: 'DELETE' });
    expect(deleted.status, deleted.text).toBe(200);
    await until('its deletion is seen', () => last()?.event === 'deleted');
  });

  /** Events of all batches, as they come. */
  function follow(url: string): Seen[] {
    const seen: Seen[] = [];
    const parser = createParser({
      onEvent({ event, data }) {
        const { id, status, request_counts: counts } = JSON.parse(data);
        seen.push({ event, id, status, completed: counts?.completed ?? 0 });
      },
    });
    void (async () => {
      const headers = { authorization: `Bearer ${processKey}` };
      const { body } = await fetch(`${url}/v1/batches/events`, { headers });
      const decoder = new TextDecoder();
      for await (const part of body!) parser.feed(decoder.decode(part, { stream: true }));
    })().catch(() => {});
    return seen;
  }
}
