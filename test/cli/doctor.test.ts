import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { complete, completion, send, startFakeUpstream } from '../support/fake-upstream.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';
import { accessKey, secretKey, startObjectStore } from '../support/object-store.ts';
import { runCli } from './support/run-cli.ts';

const read = (name: string) =>
  readFileSync(join(import.meta.dirname, '../engines/upstream/tls', name), 'utf8');

let cwd: string;
let upstream: FakeUpstream;

beforeEach(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'offpeak-doctor-'));
  upstream = await startFakeUpstream(obliging);
  upstream.models = (response) =>
    send(response, 200, { data: [{ id: 'Qwen/Qwen3-32B', owned_by: 'vllm' }, { id: 'other' }] });
});

afterEach(async () => {
  deaf = undefined;
  await upstream.close();
  rmSync(cwd, { recursive: true, force: true });
});

const scored = {
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'Yes.' },
      logprobs: { content: [{ token: 'Yes.', logprob: -0.5 }] },
      finish_reason: 'stop',
    },
  ],
};

/** Port of a server that ignores logprobs. */
let deaf: number | undefined;

/** Supports everything. */
const obliging: FakeUpstream['answer'] = (response, { path, text }) => {
  if (path.endsWith('/embeddings')) {
    const data = [{ object: 'embedding', index: 0, embedding: [0.5, 0.5] }];
    return send(response, 200, { object: 'list', data, usage: { prompt_tokens: 1, total_tokens: 1 } });
  }
  if (path.endsWith('/v1/completions'))
    return send(response, 200, { choices: [{ index: 0, text: ' wet', finish_reason: 'length' }] });
  if (!path.endsWith('/chat/completions')) return send(response, 404, {});
  const request = JSON.parse(text) as { tools?: unknown; response_format?: unknown; logprobs?: boolean };
  const json = '{"word":"yes"}';
  if (request.logprobs && upstream.port !== deaf) return send(response, 200, completion('Yes.', scored));
  if (!request.tools) return send(response, 200, completion(request.response_format ? json : 'Yes.'));
  const call = { id: 'call_1', type: 'function', function: { name: 'answer', arguments: json } };
  const message = { role: 'assistant', content: null, tool_calls: [call] };
  const choices = [{ index: 0, message, finish_reason: 'tool_calls' }];
  return send(response, 200, completion('', { choices }));
};

const configure = (engine: Record<string, unknown>, more: object = {}) =>
  writeFileSync(
    join(cwd, 'offpeak.yaml'),
    [
      'models:',
      '  - id: qwen',
      ...Object.entries(more).map(([key, value]) => `    ${key}: ${JSON.stringify(value)}`),
      '    engine:',
      '      kind: openai',
      ...Object.entries(engine).map(([key, value]) => `      ${key}: ${JSON.stringify(value)}`),
    ].join('\n'),
  );
const doctor = (...more: string[]) => runCli(['doctor', ...more], { cwd, env: { OFFPEAK_API_KEY: '' } });
const model = 'Qwen/Qwen3-32B';

describe('offpeak doctor', () => {
  it('reports what a server supports and what Offpeak emulates', async () => {
    configure({ url: upstream.url, model });
    const { code, out } = await doctor();
    expect(out).toContain(`qwen at 127.0.0.1:${upstream.port}/v1 (vllm)`);
    expect(out).toMatch(/ok +connection +\d+ ms/);
    expect(out).toMatch(/ok +models +Qwen\/Qwen3-32B, in \d+ ms/);
    expect(out).toMatch(/ours +slots +not reported; discovered under load/);
    expect(out).toMatch(/ok +chat +3 tokens in \d+ ms/);
    expect(out).toMatch(/ok +tool call +forced by the server/);
    expect(out).toMatch(/ok +json_schema +enforced by the server/);
    expect(out).toMatch(/ok +logprobs +in its answers/);
    expect(out).toMatch(/ours +messages +translated\n/);
    expect(out).toMatch(/ours +responses +translated\n/);
    expect(out).toMatch(/ok +completions +raw prompts, in \d+ ms/);
    expect(out).toMatch(/ok +embeddings +2 dimensions in \d+ ms/);
    expect(code).toBe(0);
    const chats = upstream.received.map(({ text }) => text);
    expect(chats.filter((text) => text.includes('"max_tokens":8'))).toHaveLength(1);
  });

  it('tries each kind that a model serves', async () => {
    configure({ url: upstream.url, model, flavor: 'vllm' }, { serves: ['rerank', 'moderations'] });
    const oblige = upstream.answer;
    upstream.answer = (response, request) =>
      request.path.endsWith('/rerank')
        ? send(response, 200, { results: [{ index: 0, relevance_score: 1 }] })
        : oblige(response, request);
    const { code, out } = await doctor();
    expect(out).toMatch(/ok +rerank +in \d+ ms/);
    expect(out).toMatch(
      /fault +moderations +The server of this model does not support moderations with it\. Remove moderations from serves\./,
    );
    expect(out).not.toMatch(/chat|embeddings/);
    expect(code).not.toBe(0);
  });

  it('reports a server that ignores logprobs', async () => {
    deaf = upstream.port;
    configure({ url: upstream.url, model });
    const { code, out } = await doctor();
    expect(out).toMatch(/ours +logprobs +none \(.*ignores logprobs.*\); requests for them fail/);
    expect(code).toBe(0);
  });

  it('checks whether the bucket accepts files', async () => {
    const store = await startObjectStore();
    try {
      const { endpoint, region } = store.config;
      configure({ url: upstream.url, model });
      const file = join(cwd, 'offpeak.yaml');
      const yaml = `${readFileSync(file, 'utf8')}\nfiles: s3://files/here\ns3: { endpoint: "${endpoint}", region: ${region} }\n`;
      writeFileSync(file, yaml);
      const env = { OFFPEAK_API_KEY: '', AWS_ACCESS_KEY_ID: accessKey, AWS_SECRET_ACCESS_KEY: secretKey };
      const { code, out } = await runCli(['doctor', '--no-generate'], { cwd, env });
      expect([code, out]).toEqual([0, expect.stringContaining('files in s3://files/here: ok')]);
      const wrong = { cwd, env: { ...env, AWS_SECRET_ACCESS_KEY: 'mistyped' } };
      const told = await runCli(['config', 'check', '--probe'], wrong);
      expect(told.code).toBe(5);
      expect(told.out).toMatch(
        /fault +store +127.0.0.1:\d+ rejected the signature: the secret .* is wrong\. Check s3\.access_key/,
      );
      const { out: json } = await runCli(['doctor', '--no-generate', '--json'], wrong);
      expect(JSON.parse(json)).toMatchObject([
        { model: 'qwen', reachable: true },
        { files: 's3://files/here', reachable: false, findings: [{ about: 'store', verdict: 'fault' }] },
      ]);
      store.fault = (request) =>
        request.includes('?uploads') ? { status: 403, code: 'AccessDenied' } : undefined;
      const limited = await runCli(['doctor', '--no-generate'], { cwd, env });
      expect(limited.code).toBe(1);
      expect(limited.out).toMatch(
        /lacks permissions for the bucket files.*list the bucket and its multipart uploads/,
      );
      const usable = await runCli(['config', 'check', '--probe', '--json'], { cwd, env });
      expect(usable.code).toBe(1);
      expect(JSON.parse(usable.out)).toMatchObject([
        { model: 'qwen' },
        { files: 's3://files/here', reachable: true, findings: [{ about: 'store', verdict: 'fault' }] },
      ]);
      expect(store.objects.size).toBe(0);
      const { out: shown } = await runCli(['config', 'check', '--json'], { cwd, env });
      expect(shown).not.toContain(secretKey);
    } finally {
      await store.close();
    }
  });

  describe('of models that run as jobs', () => {
    const configureJobs = (keys: Record<string, unknown>) =>
      writeFileSync(
        join(cwd, 'offpeak.yaml'),
        `models:\n  - id: big\n    engine:\n      kind: job\n${Object.entries(keys)
          .map(([key, value]) => `      ${key}: ${JSON.stringify(value)}\n`)
          .join('')}`,
      );

    it('finds the program of the command, and a folder that can be written', async () => {
      configureJobs({ run: 'command', command: ['sh', '-c', 'true'], folder: join(cwd, 'shared/jobs') });
      const { code, out } = await doctor();
      expect(out).toContain('big at sh (jobs, command)');
      expect(out).toMatch(/ok +runner +sh can be run\n/);
      expect(out).toMatch(/ok +folder +files can be written to .*shared\/jobs\n/);
      expect(code).toBe(0);
    });

    it('reports missing programs and a folder that cannot be written, with their places', async () => {
      writeFileSync(join(cwd, 'a-file'), '');
      const [command, status] = [['no-such-sbatch'], ['no-such-squeue']];
      configureJobs({ run: 'command', command, status, folder: join(cwd, 'a-file/jobs') });
      const { code, out } = await doctor();
      expect(out).toMatch(
        /fault +runner +.*offpeak\.yaml:6: models\[0\]\.engine\.command: There is no program no-such-sbatch to start jobs with/,
      );
      expect(out).toMatch(
        /fault +runner +.*offpeak\.yaml:7: .*There is no program no-such-squeue for the status/,
      );
      expect(out).toMatch(/fault +folder +.*offpeak\.yaml:8: .*a-file is not a folder/);
      expect(code).toBe(5);
    });

    it('asks a Ray cluster for its version, and starts no job', async () => {
      const paths: string[] = [];
      const cluster = createHttpServer((request, response) => {
        paths.push(`${request.method} ${request.url}`);
        response.end('{"version":"4"}');
      });
      await new Promise<void>((resolve) => {
        cluster.listen(0, '127.0.0.1', resolve);
      });
      const address = `http://127.0.0.1:${(cluster.address() as AddressInfo).port}`;
      configureJobs({ run: 'ray', address, entrypoint: 'python batch.py' });
      const { code, out } = await doctor();
      expect(out).toMatch(/ok +runner +the cluster takes jobs\n/);
      expect([code, paths]).toEqual([0, ['GET /api/version']]);
      cluster.closeAllConnections();
      await new Promise((resolve) => {
        cluster.close(resolve);
      });
      const gone = await doctor('--json');
      expect(JSON.parse(gone.out)).toMatchObject([
        {
          model: 'big',
          server: new URL(address).host,
          flavor: 'jobs, ray',
          reachable: false,
          findings: [{ about: 'runner', verdict: 'fault', message: expect.stringContaining('ECONNREFUSED') }],
        },
      ]);
      expect(gone.code).toBe(5);
    });
  });

  it('sends no generation requests with --no-generate', async () => {
    configure({ url: upstream.url, model, slots: 12, flavor: 'ollama' });
    const { code, out } = await doctor('--no-generate');
    expect(out).toMatch(/slots +12, as configured/);
    expect(out).not.toContain('chat');
    expect(upstream.received.some(({ path }) => path.includes('completions'))).toBe(false);
    expect(code).toBe(0);
  });

  it('reports what Offpeak emulates for a less capable server', async () => {
    configure({ url: upstream.url, model, flavor: 'ollama' }, { serves: ['chat'] });
    const { code, out } = await doctor();
    expect(out).toMatch(
      /ours +tool call +cannot be forced; Offpeak requests the arguments and builds the call/,
    );
    expect(out).not.toContain('embeddings');
    expect(code).toBe(0);
  });

  it('detects natively supported formats, and formats that are wrongly configured as native', async () => {
    const { answer } = upstream;
    upstream.answer = (response, request) =>
      /\/(messages|responses)$/.test(request.path)
        ? complete('Yes.')(response, request)
        : answer(response, request);
    configure({ url: upstream.url, model, capabilities: { messages: 'native' } });
    const { code, out } = await doctor();
    expect(out).toMatch(/ok +messages +passed on unchanged, in \d+ ms/);
    expect(out).toMatch(
      /ours +responses +translated, though the server supports them; set capabilities: \{ responses: native \}/,
    );
    expect(code).toBe(0);
    upstream.answer = answer;
    const { code: failed, line } = await fault();
    expect(line).toMatch(
      /^7: models\[0\]\.engine\.capabilities: .*\. Set capabilities: \{ messages: chat \}, so that Offpeak translates them\.$/,
    );
    expect(failed).toBe(1);
  });

  it('suggests the setting for a server without raw prompts', async () => {
    const answer = upstream.answer;
    upstream.answer = (response, request) =>
      request.path.endsWith('/v1/completions') ? send(response, 404, {}) : answer(response, request);
    configure({ url: upstream.url, model, flavor: 'generic' });
    const { code, out } = await doctor();
    expect(out).toMatch(/ours +completions +none \(.*\); set capabilities: \{ completions: none \}/);
    expect(code).toBe(0);
    configure({ url: upstream.url, model, flavor: 'generic', capabilities: { completions: 'none' } });
    expect((await doctor()).out).toMatch(/ours +completions +not sent to this flavor/);
  });

  it.each([
    [{}, /ours +json_schema +unknown: its answer reached the limit of 256 tokens\n/],
    [{ reasoning_content: 'Hm.' }, /json_schema +unknown: .* 256 tokens, all spent on reasoning\n/],
  ])('reports a cut answer and its cause: %j', async (thoughts, told) => {
    upstream.answer = (response, { path }) => {
      if (!path.endsWith('/chat/completions')) return send(response, 404, {});
      const message = { role: 'assistant', content: 'Wa', ...thoughts };
      return send(
        response,
        200,
        completion('', { choices: [{ index: 0, message, finish_reason: 'length' }] }),
      );
    };
    configure({ url: upstream.url, model, flavor: 'vllm' }, { serves: ['chat'] });
    expect((await doctor()).out).toMatch(told);
  });

  it('reports a broken guarantee', async () => {
    upstream.answer = (response, { path }) =>
      path.endsWith('/chat/completions')
        ? send(response, 200, completion('Water is wet.'))
        : send(response, 404, {});
    configure({ url: upstream.url, model, flavor: 'vllm' }, { serves: ['chat'] });
    const { code, out } = await doctor();
    expect(out).toMatch(
      /fault +tool call +\S+offpeak.yaml:4: models\[0\].engine: it did not make the forced call\. Set capabilities: \{ forced_tool: none \}/,
    );
    expect(out).toContain('Set capabilities: { json_schema: none }');
    expect(code).toBe(1);
  });

  const fault = async (...more: string[]) => {
    const { code, out } = await doctor(...more);
    const line = out.split('\n').find((each) => each.includes('fault')) ?? out;
    return { code, line: line.replace(/^.*offpeak\.yaml:/, '') };
  };

  it('finds a model by an alias that the server lists', async () => {
    upstream.models = (response) =>
      send(response, 200, { data: [{ id: 'real', aliases: [model] }, { id: 'other' }] });
    configure({ url: upstream.url, model });
    const { code, out } = await doctor('--no-generate');
    expect([code, out]).toEqual([0, expect.stringMatching(new RegExp(`ok +models +${model}, in`))]);
  });

  it('lists the available models and suggests the closest', async () => {
    configure({ url: upstream.url, model: 'Qwen/Qwen3-23B' });
    const { code, line } = await fault();
    expect(line).toBe(
      "6: models[0].engine.model: it has no model 'Qwen/Qwen3-23B'; it has Qwen/Qwen3-32B, other. Did you mean 'Qwen/Qwen3-32B'?",
    );
    expect(code).toBe(1);
  });

  it('probes each of several servers with its own model name and flavor', async () => {
    const { url } = upstream;
    configure({
      urls: [
        { url, model: 'other', flavor: 'ollama' },
        { url, model: 'gone' },
      ],
      model,
    });
    const { out } = await doctor();
    expect(out).toContain(`qwen at 127.0.0.1:${upstream.port}/v1 (ollama)`);
    expect(out).toContain(`models[0].engine.urls[1].model: it has no model 'gone'`);
    const asked = upstream.received.flatMap(({ text }) => text.match(/"model":"([^"]+)"/)?.[1] ?? []);
    expect(new Set(asked)).toEqual(new Set(['other']));
  });

  it('finds the intended URL', async () => {
    upstream.models = (response, { path }) =>
      path === '/v1/models' ? send(response, 200, { data: [{ id: model }] }) : send(response, 404, {});
    const url = upstream.url.replace('/v1', '');
    configure({ urls: [url, { url: `${upstream.url}/chat/completions` }], model });
    const { out } = await doctor();
    const advice = `there is no API at this address. Use ${upstream.url}.`;
    expect(out).toContain(`models[0].engine.urls[0]: ${advice}`);
    expect(out).toContain(`models[0].engine.urls[1].url: ${advice}`);
  });

  it('detects the own API of llama-server beside /v1', async () => {
    upstream.models = (response) => send(response, 200, { data: [{ id: model, owned_by: 'llamacpp' }] });
    configure({ url: upstream.url.replace('/v1', ''), model });
    expect((await fault()).line).toBe(
      `5: models[0].engine.url: it answers here in its own format. Use ${upstream.url}.`,
    );
  });

  it.each<[string, FakeUpstream['answer'], (url: string) => string]>([
    [
      'points elsewhere',
      (response) => response.writeHead(301, { location: '/api/v1/models' }).end(),
      (url) =>
        `it redirects to ${url.replace('/v1', '/api/v1')}/models (status 301), which Offpeak does not follow. Use ${url.replace('/v1', '/api/v1')}.`,
    ],
    [
      'points to where one logs in',
      (response) => response.writeHead(302, { location: 'https://login.example.com/' }).end(),
      () =>
        'it redirects to https://login.example.com/ (status 302), which Offpeak does not follow. Check the address.',
    ],
    [
      'shows pages',
      (response) => send(response, 200, '<html>Welcome</html>'),
      () => 'it answers with an HTML page instead of a list of models. Check the address.',
    ],
  ])('detects a URL that %s', async (_, models, told) => {
    upstream.models = models;
    configure({ url: upstream.url, model });
    expect(await fault('--no-generate')).toEqual({
      code: 1,
      line: `5: models[0].engine.url: ${told(upstream.url)}`,
    });
  });

  it.each([
    [{ message: 'Resource not found' }, /engine\.url: .*\(status 404\).*Check the address\./],
    [
      { code: 'DeploymentNotFound', message: 'The deployment does not exist.' },
      /engine\.model: .*does not have the model/,
    ],
  ])('detects what is missing where models are not listed: %o', async (error, told) => {
    upstream.models = (response) => send(response, 404, {});
    upstream.answer = (response) => send(response, 404, { error });
    configure({ url: upstream.url, model, flavor: 'azure' }, { serves: ['chat'] });
    expect((await fault()).line).toMatch(told);
  });

  it('accepts a bare array as the model list', async () => {
    upstream.models = (response) => send(response, 200, [{ id: model }]);
    configure({ url: upstream.url, model });
    expect((await doctor('--no-generate')).out).toMatch(/ok +models +Qwen\/Qwen3-32B, in \d+ ms/);
  });

  it('does not report an unavailable server as incapable', async () => {
    upstream.answer = (response, { text }) =>
      text.includes('"max_tokens":8') ? send(response, 200, completion('Yes.')) : send(response, 503, {});
    configure({ url: upstream.url, model });
    const { code, out } = await doctor();
    expect(out.match(/fault .* Try again later\./g)).toHaveLength(4);
    expect(out).not.toContain('et capabilities');
    expect(code).toBe(1);
  });

  it('ends a sentence with one period, whether or not the server sent one', async () => {
    upstream.answer = (response) => send(response, 500, { error: { message: 'Out of memory.' } });
    configure({ url: upstream.url, model, flavor: 'vllm' }, { serves: ['chat'] });
    expect((await fault()).line).toMatch(/: Out of memory\. Check its log\.$/);
  });

  it.each([
    [{ api_key: 'wrong' }, '7: models[0].engine.api_key: it refuses the key (status 401). Set a valid key.'],
    [{}, '3: models[0].engine: it requires a key (status 401). Set api_key.'],
  ])('reports a missing or rejected key: %o', async (key, told) => {
    upstream.models = (response) => send(response, 401, { error: { message: 'no' } });
    configure({ url: upstream.url, model, ...key });
    expect(await fault('--no-generate')).toEqual({ code: 1, line: told });
  });

  it('reports only the key where models are listed without it, at a URL that contains the model', async () => {
    upstream.models = (response) => send(response, 404, {});
    upstream.answer = (response) => send(response, 401, { error: { message: 'no' } });
    configure({ url: `${upstream.url}/{model}`, model, api_key: 'wrong' });
    const { out } = await doctor();
    expect(out).toContain(`qwen at 127.0.0.1:${upstream.port}/v1/{model} (generic)`);
    expect(out.match(/api_key: .*\(status 401\).* Check the key and the account\.\n/g)).toHaveLength(2);
    expect(out).not.toContain('serves:');
  });

  it("recognizes a provider's message for an invalid key", async () => {
    const message = 'API key not valid. Please pass a valid API key.';
    upstream.models = (response) => send(response, 400, [{ error: { code: 400, message } }]);
    configure({ url: upstream.url, model, flavor: 'gemini', api_key: 'wrong' });
    expect((await fault('--no-generate')).line).toMatch(/engine\.api_key: it refuses the key \(status 400\)/);
  });

  it('reports an address where no server listens', async () => {
    const gone = createServer();
    await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve));
    const { port } = gone.address() as AddressInfo;
    await new Promise((resolve) => gone.close(resolve));
    configure({ url: `http://127.0.0.1:${port}/v1`, model });
    expect(await fault()).toEqual({
      code: 5,
      line: `5: models[0].engine.url: no server listens at 127.0.0.1:${port}. Start the server, or correct the address.`,
    });
  });

  it('detects HTTP in place of HTTPS and the reverse', async () => {
    configure({ url: upstream.url.replace('http:', 'https:'), model });
    expect((await fault()).line).toContain(`does not speak HTTPS. Use ${upstream.url}.`);
    const [key, cert] = [read('key.pem'), read('certificate.pem')];
    const secure = createTlsServer({ cert, key }, (_request, response) => response.end('{}'));
    await new Promise<void>((resolve) => secure.listen(0, '0.0.0.0', resolve));
    const { port } = secure.address() as AddressInfo;
    try {
      configure({ url: `http://127.0.0.1:${port}/v1`, model });
      const plain = await fault();
      expect(plain.line).toContain(`speaks HTTPS. Use https://127.0.0.1:${port}/v1.`);
      configure({ url: `https://127.0.0.1:${port}/v1`, model });
      expect((await fault()).line).toMatch(/has no trusted issuer .* Name the file/);
      writeFileSync(join(cwd, 'ca.pem'), cert);
      configure({ url: `https://127.0.0.2:${port}/v1`, model, ca: 'ca.pem' });
      expect((await fault()).line).toMatch(
        /url: the certificate of 127\.0\.0\.2:\d+ is for .*127\.0\.0\.1.*\. Use a name/,
      );
    } finally {
      secure.close();
    }
  });

  it('prints JSON with --json', async () => {
    configure({ url: upstream.url, model });
    const { out } = await doctor('--json', '--no-generate');
    expect(JSON.parse(out)).toMatchObject([
      { model: 'qwen', flavor: 'vllm', reachable: true, findings: [{ about: 'connection' }, {}, {}] },
    ]);
  });
});

describe('graphics cards', () => {
  function configureCards(...engines: string[]): void {
    const models = engines.map(
      (more, n) => `  - { id: m${n}, engine: { kind: llama, path: models/offpeak-tiny.gguf${more} } }\n`,
    );
    writeFileSync(join(cwd, 'offpeak.yaml'), `models:\n${models.join('')}`);
  }

  it('are no finding without a build, unless one is named', async () => {
    configureCards('', ', gpu: off');
    expect(await doctor('--json')).toMatchObject({ code: 0, out: '[]\n' });
    configureCards(', gpu: metal', ', gpu: off');
    if (process.platform === 'darwin') return;
    const { code, out } = await doctor();
    expect(code).toBe(1);
    expect(out).toMatch(
      /m0 on the embedded engine\n *fault +gpu +the processor, not a graphics card \(Metal does not/,
    );
    expect(out).not.toContain('m1');
  });

  it.skipIf(process.platform !== 'linux' || process.arch !== 'x64')(
    'that cannot be used are reported, but no fault if none was named',
    async () => {
      const build = join(cwd, 'offpeak-data', 'engine', 'vulkan-3.20.0');
      mkdirSync(join(build, 'node_modules'), { recursive: true });
      writeFileSync(join(build, 'node_modules', 'addon'), 'build');
      writeFileSync(join(build, 'build.json'), JSON.stringify({ version: '3.20.0', bytes: 5, packages: {} }));
      configureCards('');
      const { code, out } = await doctor('--json');
      expect(code).toBe(0);
      expect(JSON.parse(out)).toEqual([
        {
          model: 'm0',
          server: 'embedded engine',
          reachable: true,
          findings: [
            {
              about: 'gpu',
              verdict: 'ours',
              message: expect.stringContaining('Vulkan: the installed build is of version 3.20.0'),
            },
          ],
        },
      ]);
    },
  );
});

describe('offpeak config check --probe', () => {
  it('reports the state of every server, with the reason for each fault', async () => {
    configure({ url: upstream.url, model });
    const well = await runCli(['config', 'check', '--probe'], { cwd, env: { OFFPEAK_API_KEY: '' } });
    expect(well).toMatchObject({ code: 0, err: '' });
    expect(well.out).toBe(`qwen at 127.0.0.1:${upstream.port}/v1 (vllm): ok\n`);
    configure({ url: upstream.url, model: 'nothing' });
    const ill = await runCli(['config', 'check', '--probe'], { cwd, env: { OFFPEAK_API_KEY: '' } });
    expect(ill.out).toContain("it has no model 'nothing'");
    expect(ill.code).toBe(1);
  });
});
