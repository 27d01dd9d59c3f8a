import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Finding } from '../../../src/core/examination.ts';
import type { Flavor } from '../../../src/core/flavor.ts';
import { chatLines, endings, parseLines } from '../../support/batch-lines.ts';
import { install } from '../../support/server-process.ts';
import { startApp, testModel } from '../../support/app.ts';
import type { RunningApp } from '../../support/app.ts';
import { until } from '../../support/until.ts';
import { ask, call, engineAt } from '../upstream/setup.ts';
import { exchanges, long, pixel, weather } from './exchanges.ts';
import { record } from './record.ts';
import { kinds, startServer } from './servers.ts';
import type { RealServer } from './servers.ts';

const main = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));

/** Records the answers of the servers for `npm test`. */
const isRecording = process.env['OFFPEAK_RECORD'] === '1';

interface Completion {
  choices: {
    message: { content: string | null; tool_calls?: { function: { name: string; arguments: string } }[] };
    finish_reason: string;
    logprobs: { content: { top_logprobs: unknown[] }[] } | null;
  }[];
  error: { code: string };
}

for (const kind of kinds) {
  let missing: string | undefined;
  let launch: ReturnType<typeof kind.find> | undefined;
  try {
    launch = kind.find();
  } catch (error) {
    missing = error instanceof Error ? error.message : String(error);
    console.warn(`SKIPPED: not tested with ${kind.flavor}: ${missing}`);
  }

  describe.skipIf(missing)(`Offpeak in front of ${kind.flavor}`, () => {
    let server: RealServer;
    let offpeak: RunningApp;

    beforeAll(async () => {
      server = await startServer(kind, launch!);
      const timeouts = { connectMs: 1_000, firstByteMs: 60_000, idleMs: 60_000, totalMs: 60_000 };
      const replicas = [{ url: server.url, apiKey: null, slots: null, weight: 1, drain: false }];
      offpeak = await startApp({
        models: [testModel({ kind: 'openai', flavor: null, replicas, model: server.model, timeouts })],
      });
    });
    afterAll(async () => {
      await offpeak?.stop();
      await server?.kill();
    });

    const post = async (path: string, body: object) => {
      const { status, text } = await offpeak.api.send(path, { json: { model: 'tiny', ...body } });
      return { status, body: JSON.parse(text) as Completion };
    };
    const chat = (body: object, content: unknown = 'Say hello.') =>
      post('/v1/chat/completions', { messages: [{ role: 'user', content }], max_tokens: 60, ...body });

    it.runIf(isRecording)('is recorded', async () => {
      for (const exchange of exchanges) await record(server, exchange);
    });

    it('reports its context, and its slots if it knows them', async () => {
      const engine = engineAt(server.url, { model: server.model, flavor: 'auto', slots: null });
      await engine.start();
      const report = await engine.probe();
      expect(report).toMatchObject({ contextLength: 512 });
      expect(report.slots).toBe(server.flavor === 'llama-server' ? 4 : null);
      expect(engine.capabilities.contextLength).toBe(512);
      await engine.stop();
    });

    it.each<[string, unknown]>([
      ['required', 'required'],
      ['named', { type: 'function', function: { name: 'get_weather' } }],
    ])('calls a tool, %s', async (_, tool_choice) => {
      const { status, body } = await chat(
        { tools: [weather], tool_choice, max_tokens: 200 },
        'Weather in Paris?',
      );
      expect([status, body.error]).toEqual([200, undefined]);
      const [choice] = body.choices;
      const [made] = choice!.message.tool_calls!;
      expect(made!.function.name).toBe('get_weather');
      expect(JSON.parse(made!.function.arguments)).toEqual({ city: expect.any(String) });
    });

    it('conforms to a schema', async () => {
      const schema = {
        type: 'object',
        properties: { sentiment: { enum: ['positive', 'negative'] }, sure: { type: 'boolean' } },
        required: ['sentiment', 'sure'],
        additionalProperties: false,
      };
      const format = { type: 'json_schema', json_schema: { name: 'review', strict: true, schema } };
      const { status, body } = await chat(
        { response_format: format, max_tokens: 200 },
        'I love it. Sentiment?',
      );
      expect([status, body.error]).toEqual([200, undefined]);
      expect(JSON.parse(body.choices[0]!.message.content!)).toEqual({
        sentiment: expect.stringMatching(/^(positive|negative)$/),
        sure: expect.any(Boolean),
      });
    });

    it('rejects a prompt that does not fit', async () => {
      const { status, body } = await chat({}, long);
      expect([status, body.error.code]).toEqual([400, 'context_length_exceeded']);
      // Ollama silently truncates embedding inputs.
      if (kind.flavor === 'ollama') return;
      const embedded = await post('/v1/embeddings', { input: long });
      // vLLM makes no embeddings with a generating model.
      expect([embedded.status, embedded.body.error.code]).toEqual(
        kind.flavor === 'vllm' ? [404, 'model_not_found'] : [400, 'context_length_exceeded'],
      );
    });

    it('rejects an image, which its model does not support', async () => {
      const { status, body } = await chat({}, [{ type: 'image_url', image_url: { url: pixel } }]);
      // vLLM does not report its inputs, so it rejects the image itself.
      expect([status, body.error.code]).toEqual(
        kind.flavor === 'vllm' ? [400, 'request_refused'] : [422, 'validation_error'],
      );
    });

    it.each(['none', 'high'])('accepts an effort: %s', async (reasoning_effort) => {
      expect((await chat({ reasoning_effort, max_tokens: 12 })).status).toBe(200);
    });

    it('accepts a limit beyond its context', async () => {
      const { status, body } = await chat({ max_tokens: 100_000, stop: ['m'] });
      expect([status, body.error]).toEqual([200, undefined]);
    });

    it('stops at a stop sequence, and returns the requested probabilities', async () => {
      const { body } = await chat({ stop: ['m'], logprobs: true });
      const [choice] = body.choices;
      expect(choice!.finish_reason).toBe('stop');
      expect(choice!.message.content).not.toContain('m');
      for (const token of choice!.logprobs!.content) expect(token.top_logprobs).toEqual([]);
    });

    it.skipIf(kind.flavor === 'llama-server')('reports that it does not have a model', async () => {
      const engine = engineAt(server.url, { model: 'nobody', flavor: kind.flavor });
      await expect(engine.generate(ask(), call())).rejects.toMatchObject({
        code: 'model_not_found',
        blame: { scope: 'model' },
      });
      await engine.stop();
    });

    it('matches the report of the doctor', async () => {
      const { stdout } = spawnSync(
        process.execPath,
        [main, 'doctor', '--json', '--config', configFor(server)],
        {
          encoding: 'utf8',
        },
      );
      const [{ flavor, findings }] = JSON.parse(stdout) as [{ flavor: string; findings: Finding[] }];
      expect(flavor).toBe(kind.flavor);
      const not = findings.filter(({ verdict }) => verdict !== 'ok');
      expect(Object.fromEntries(not.map(({ about, verdict }) => [about, verdict]))).toEqual(
        notOk[kind.flavor],
      );
    });

    it('is detected as hanging while its connections stay open, and every line ends once after it resumes', async () => {
      // The shortest timeout with hang detection; every other limit of a call is an hour.
      const timeouts = { connectMs: 1_000, firstByteMs: 3_600_000, idleMs: 60_000, totalMs: 3_600_000 };
      const replicas = [{ url: server.url, apiKey: null, slots: null, weight: 1, drain: false }];
      const engine = { kind: 'openai' as const, flavor: null, replicas, model: server.model, timeouts };
      const app = await startApp({ models: [testModel(engine)] });
      try {
        const lines = chatLines(200, (n) => `Say ${n}.`).map((line) => ({
          ...line,
          body: { ...line.body, model: 'tiny', max_tokens: 8 },
        }));
        const { id } = await app.api.createBatch({ requests: lines });
        const batch = () => app.api.batch(id);
        const done = (many: number) => {
          const isDone = async () => (await batch()).request_counts.completed >= many;
          return until(`${many} lines are done`, isDone, { withinMs: 300_000 });
        };
        await done(40);
        server.suspend();
        const isFound = async () => (await batch()).waiting?.reason === 'engine_unavailable';
        await until('the hang is detected', isFound, { withinMs: 300_000 });
        expect((await batch()).request_counts).toMatchObject({ failed: 0 });
        server.resume();
        // On a slow machine all of them together take longer than any single wait.
        await done(120);
        expect((await app.api.finished(id)).request_counts).toEqual({
          total: 200,
          completed: 200,
          failed: 0,
        });
        const { all, distinct } = endings((await app.api.results(id, 'output')).text, '');
        expect([all.length, distinct.size]).toEqual([200, 200]);
      } finally {
        server.resume();
        await app.stop();
      }
    });

    it('ends every line once even if both processes are killed in the middle', async () => {
      const installation = install(readFileSync(configFor(server), 'utf8'));
      try {
        let life = await installation.start();
        const lines = chatLines(200, (n) => `Say ${n}.`).map((line) => ({
          ...line,
          body: { ...line.body, model: 'tiny', max_tokens: 8 },
        }));
        const { id } = await life.api.createBatch({ requests: lines });
        const done = (many: number) => {
          const isDone = async () => (await life.api.batch(id)).request_counts.completed >= many;
          return until(`${many} lines are done`, isDone, { withinMs: 300_000 });
        };
        await done(40);
        await server.kill();
        await server.start();
        await done(100);
        await life.end('SIGKILL');
        life = await installation.start();
        await done(150);
        const batch = await life.api.finished(id);
        expect(batch.request_counts).toEqual({ total: 200, completed: 200, failed: 0 });
        const { text } = await life.api.results(id, 'output');
        const { all, distinct } = endings(text, '');
        expect([all.length, distinct.size]).toEqual([200, 200]);
        expect(parseLines(text).every(({ response }) => response?.status_code === 200)).toBe(true);
      } finally {
        await installation.remove();
      }
    });
  });
}

/** Every server supports these formats, but Offpeak uses them only if configured, since older versions lack them. */
const formats = { messages: 'ours', responses: 'ours' };

/** Checks of the doctor that a server does not pass by itself. */
const notOk: Partial<Record<Flavor, Record<string, string>>> = {
  'llama-server': formats,
  ollama: { ...formats, slots: 'ours', 'tool call': 'ours', completions: 'ours' },
  vllm: { ...formats, slots: 'ours', embeddings: 'ours' },
};

/** Written to a file, because the doctor names its lines. */
function configFor({ url, model }: RealServer): string {
  const file = join(mkdtempSync(join(tmpdir(), 'offpeak-engines-')), 'offpeak.yaml');
  writeFileSync(file, `models: [{ id: tiny, engine: { kind: openai, url: "${url}", model: ${model} } }]\n`);
  return file;
}
