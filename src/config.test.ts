import { describe, expect, it } from 'vitest';
import { batchEndpoints } from './core/batch.ts';
import { ConfigError } from './config/source-value.ts';
import { clientSettings } from './config/environment.ts';
import { type ConfigSources, loadConfig } from './config.ts';

const folder = '/srv/offpeak';
const long = '0123456789abcdef0123456789abcdef';

function load(yaml: string | null, sources: ConfigSources = {}) {
  return loadConfig({
    env: {},
    cwd: folder,
    exists: (path) => path.endsWith('.gguf') || (yaml !== null && path === `${folder}/offpeak.yaml`),
    readFile: (path) => {
      if (path === `${folder}/offpeak.yaml` && yaml !== null) return yaml;
      if (path === '/run/secrets/x') return 'from-a-file\n';
      throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
    },
    ...sources,
  });
}

function problems(yaml: string | null, sources: ConfigSources = {}): string[] {
  try {
    load(yaml, sources);
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n');
    throw error;
  }
  return [];
}

const model = (more: string, engine = 'kind: scripted') =>
  `models:\n  - id: m\n    engine: { ${engine} }\n${more}`;

describe('without a file', () => {
  it('is the embedded model alone, on this machine alone', () => {
    const config = load(null);
    expect(config.server).toEqual({ host: '127.0.0.1', port: 8080, trustedProxies: [] });
    expect(config.data).toBe(`${folder}/offpeak-data`);
    expect(config.database).toBe('sqlite');
    expect(config.models).toHaveLength(1);
    expect(config.models[0]).toMatchObject({
      id: 'offpeak-tiny',
      aliases: ['default', 'tiny'],
      prices: { input: 100_000_000, cachedInput: 25_000_000, output: 400_000_000 },
      engine: { kind: 'llama', sequences: 8, context: 'auto', threads: 'auto' },
    });
    expect(config.batch).toEqual({
      endpoints: ['/v1/chat/completions', '/v1/embeddings'],
      compatibleEndpoints: batchEndpoints,
      resultTtlMs: 2_592_000_000,
      windows: [{ ms: 86_400_000, priceFactor: 0.5 }],
      flexTimeoutMs: 900_000,
      backgroundTimeoutMs: 86_400_000,
      cancelGraceMs: 500,
      dates: 'iso',
      lostModelAfterMs: 600_000,
      floor: { usual: 1 / 16, atRisk: 1 / 4 },
    });
    expect(config.limits).toMatchObject({
      requestsPerBatch: 10_000,
      bytesPerBatch: 33_554_432,
      compatible: { requestsPerBatch: 50_000, bytesPerBatch: 209_715_200 },
    });
    expect(config.surfaces).toEqual({ openai: '/openai', anthropic: '/anthropic' });
    expect(config).not.toHaveProperty('apiKey');
    expect(config.metrics).toBeUndefined();
  });

  it('says so when its model is missing', () => {
    expect(problems(null, { exists: () => false })).toEqual([
      expect.stringContaining('offpeak-tiny.gguf: the built-in model is missing'),
    ]);
  });
});

describe('what beats what', () => {
  const yaml = 'server: { port: 1 }\n';

  it('is flag, environment, file, default', () => {
    const env = { OFFPEAK_PORT: '2' };
    expect(load(yaml).server.port).toBe(1);
    expect(load(yaml, { env }).server.port).toBe(2);
    expect(load(yaml, { env, flags: { port: '3' } }).server.port).toBe(3);
  });

  it('takes PORT, as hosting platforms set it, where nothing of Offpeak names a port', () => {
    const env = { PORT: '4' };
    expect(load('{}', { env }).server.port).toBe(4);
    expect(load(yaml, { env }).server.port).toBe(1);
    expect(load('{}', { env: { ...env, OFFPEAK_PORT: '2' } }).server.port).toBe(2);
    expect(() => load('{}', { env: { PORT: 'tcp://10.0.0.1:80' } })).toThrow(/PORT/);
  });

  it('takes an empty variable for none', () => {
    expect(load(yaml, { env: { OFFPEAK_PORT: '' } }).server.port).toBe(1);
  });

  it('puts a folder of the file beside the file, and one of a flag where the command runs', () => {
    const readFile = () => 'data: d\n';
    const other = { readFile, flags: { config: '/etc/offpeak/o.yaml' } };
    expect(load(null, other).data).toBe('/etc/offpeak/d');
    expect(load(null, { ...other, flags: { ...other.flags, data: 'd' } }).data).toBe(`${folder}/d`);
  });
});

it('takes addresses and ranges of trusted proxies, and says which is none', () => {
  const yaml = (items: string) => `server: { trusted_proxies: [${items}] }\n`;
  expect(load(yaml("10.0.0.5, 'fd00::/8'")).server.trustedProxies).toEqual(['10.0.0.5', 'fd00::/8']);
  expect(problems(yaml('10.0.0.5, proxy.local'))).toEqual([
    expect.stringContaining('trusted_proxies[1]: must be an IP address or CIDR range'),
  ]);
});

describe('the compatible surfaces', () => {
  it('can be moved and closed', () => {
    expect(load('surfaces: { openai: /ai/openai, anthropic: false }\n').surfaces).toEqual({
      openai: '/ai/openai',
      anthropic: null,
    });
  });

  it.each([
    ['{ openai: openai }', 'surfaces.openai: must be a path that begins with a slash'],
    ['{ openai: /openai/ }', 'surfaces.openai: must be a path that begins with a slash'],
    ['{ openai: true }', 'surfaces.openai: expected a path or false'],
    ['{ anthropic: /v1/anthropic }', 'surfaces.anthropic: must not begin with /v1, which is taken'],
    ['{ anthropic: /openai }', 'surfaces.anthropic: is the prefix of both'],
    ['{ openai: /anthropic }', 'surfaces.openai: is the prefix of both'],
  ])('%s is refused', (surfaces, problem) => {
    expect(problems(`surfaces: ${surfaces}\n`)).toEqual([expect.stringContaining(problem)]);
  });

  it('have limits and endpoints of their own, unless the configuration sets them', () => {
    const { limits, batch } = load(
      'limits: { requests_per_batch: 7, bytes_per_batch: 8 }\nbatch: { endpoints: [/v1/messages] }\n',
    );
    expect(limits).toMatchObject({ requestsPerBatch: 7, bytesPerBatch: 8 });
    expect(limits.compatible).toEqual({ requestsPerBatch: 7, bytesPerBatch: 8 });
    expect([batch.endpoints, batch.compatibleEndpoints]).toEqual([['/v1/messages'], ['/v1/messages']]);
  });
});

describe('the hours of batches', () => {
  const hoursOf = (yaml: string) => load(yaml).models.map(({ hours }) => hours);
  const night = { from: 1320, to: 360, zone: 'Europe/Berlin', share: 0 };
  const usual = 'batch: { hours: "22:00-06:00 Europe/Berlin" }\n';

  it('are those of all models, unless one has its own', () => {
    expect(hoursOf(model(''))).toEqual([undefined]);
    const [own, common] = hoursOf(`${usual}${model('    batch: { share: 0.5 }\n')}  - id: n
    engine: { kind: scripted }\n`);
    expect([own, common]).toEqual([{ ...night, share: 0.5 }, night]);
    expect(hoursOf(usual + model('    batch: { hours: always }\n'))).toEqual([undefined]);
    expect(hoursOf(model('    batch: { hours: "1:00-2:30", share: 0.1 }\n'))).toEqual([
      { from: 60, to: 150, zone: 'UTC', share: 0.1 },
    ]);
    expect(load(usual).models[0]!.hours).toEqual(night);
  });

  it('may begin after the window where batches have a share at other times', () => {
    const yaml = 'batch: { hours: "22:00-06:00", completion_window: 16h, share: 0.1 }\n';
    expect(load(yaml).models[0]!.hours).toMatchObject({ share: 0.1 });
  });

  it('must begin within the default window, but not within shorter ones', () => {
    const yaml = 'batch: { hours: "22:00-06:00", windows: { 1h: 0.8, 24h: 0.5 } }\n';
    expect(load(yaml).models[0]!.hours).toMatchObject({ share: 0 });
  });
});

describe('the windows of batches', () => {
  it('are offered at their price factors, shortest first, whatever their spelling', () => {
    expect(load('batch: { windows: { 7d: 0.4, 90m: 0.8, 24h: 0.5 } }\n').batch.windows).toEqual([
      { ms: 90 * 60_000, priceFactor: 0.8 },
      { ms: 24 * 3_600_000, priceFactor: 0.5 },
      { ms: 7 * 86_400_000, priceFactor: 0.4 },
    ]);
  });

  it('have a short form for one', () => {
    const yaml = 'batch: { completion_window: 12h, price_factor: 0.6 }\n';
    expect(load(yaml).batch.windows).toEqual([{ ms: 12 * 3_600_000, priceFactor: 0.6 }]);
  });
});

describe('models', () => {
  it('may have their server fetch images, unless that takes none', () => {
    const [asked] = load(model('    image_urls: true\n')).models;
    expect(asked!.imageUrls).toBe(true);
    expect(load(model('')).models[0]).not.toHaveProperty('imageUrls');
    const embedded = 'models: [{ id: a, image_urls: true, engine: { kind: llama, path: a.gguf } }]';
    expect(problems(embedded, { exists: () => true })).toEqual([
      expect.stringContaining('the embedded engine does not accept images'),
    ]);
  });

  it('are what requests for `default` mean, where there is one', () => {
    const aliasesOf = (yaml: string) => load(yaml).models.map(({ aliases }) => aliases);
    expect(aliasesOf(model(''))).toEqual([['default']]);
    expect(aliasesOf(model('    aliases: [default]\n'))).toEqual([['default']]);
    expect(aliasesOf(model('  - id: other\n    engine: { kind: scripted }\n'))).toEqual([[], []]);
  });

  it('may be an upstream', () => {
    const config = load(
      `models:
  - id: qwen3-32b
    aliases: [big]
    serves: [chat]
    engine:
      kind: openai
      flavor: vllm
      urls: [http://gpu-1:8000/v1/]
      model: Qwen/Qwen3-32B
      api_key: \${QWEN_KEY}
      slots: auto
      timeouts: { total: 5m }
      inputs: [image]
      pass_through: [service_tier, cache_salt]
      cache_salt: "\${SALT}"
      headers: { X-Team: "\${QWEN_KEY}" }
      ca: ca.pem
      capabilities: { json_schema: exact, prefix_cache: none, custom_tools: none }
    price: { input: 0.20, output: 0.60 }
`,
      { env: { QWEN_KEY: 'k', SALT: long }, exists: () => true },
    );
    expect(config.models).toEqual([
      {
        id: 'qwen3-32b',
        aliases: ['big', 'default'],
        serves: ['chat'],
        prices: { input: 200_000_000, cachedInput: 200_000_000, output: 600_000_000 },
        engine: {
          kind: 'openai',
          flavor: 'vllm',
          replicas: [{ url: 'http://gpu-1:8000/v1', apiKey: 'k', slots: null, weight: 1, drain: false }],
          model: 'Qwen/Qwen3-32B',
          inputs: ['image'],
          passThrough: ['service_tier', 'cache_salt'],
          cacheSalt: long,
          headers: { 'x-team': 'k' },
          ca: `${folder}/ca.pem`,
          capabilities: { jsonSchema: 'exact', prefixCache: 'none', customTools: false },
          timeouts: { connectMs: 5000, firstByteMs: 3_600_000, idleMs: 120_000, totalMs: 300_000 },
        },
      },
    ]);
  });

  it('may serve other kinds than chats, except on the embedded engine', () => {
    const kinds = 'serves: [rerank, score, moderations, embeddings]';
    const upstream = 'kind: openai, url: http://h/v1, flavor: { rerank_path: /v2/rank, score_path: /s }';
    const { models } = load(model(`    ${kinds}\n`, upstream));
    expect(models[0]).toMatchObject({
      serves: ['rerank', 'score', 'moderations', 'embeddings'],
      engine: { ownTraits: { paths: { rerank: '/v2/rank', score: '/s' } } },
    });
    expect(problems(model('    serves: [ranking]\n', upstream)).join()).toContain('rerank, score');
    const embedded = problems(model(`    ${kinds}\n`, 'kind: llama, path: a.gguf'), { exists: () => true });
    expect(embedded).toEqual([expect.stringContaining('the embedded engine does not serve rerank')]);
  });

  it('may be sent no header that says what HTTP itself says, nor one that is no text', () => {
    const told = problems(
      model(
        '',
        'kind: openai, url: http://h/v1, headers: { Host: a, "x y": b, x-a: 1, x-b: "\u00fc", x-c: d }',
      ),
    ).join('\n');
    expect(told.match(/headers\S*/g)).toHaveLength(4);
    expect(told).not.toContain('x-c');
    expect(
      problems(model('', 'kind: openai, url: http://h/v1, pass_through: [a b, service_tier]')),
    ).toHaveLength(1);
  });

  it('finds a model file beside the configuration, and the built-in one from anywhere', () => {
    const beside = load(model('', 'kind: llama, path: my.gguf'));
    expect(beside.models[0]?.engine).toMatchObject({ path: `${folder}/my.gguf` });
    const inside = (path: string) => path.endsWith('models/offpeak-tiny.gguf') && !path.startsWith(folder);
    const builtIn = load(model('', 'kind: llama, path: models/offpeak-tiny.gguf'), {
      exists: (path) => inside(path) || path.endsWith('.yaml'),
    });
    expect(builtIn.models[0]?.engine).toMatchObject({
      path: expect.stringMatching(/models\/offpeak-tiny\.gguf$/),
    });
  });

  it.each(['hf:owner/repo/m.gguf', 'hf:owner/repo@v1/sub/m.gguf', 'https://host/m.gguf?x=1'])(
    'may be fetched: %s',
    (reference) => {
      const config = load(model('', `kind: llama, path: "${reference}"`), {
        exists: (path) => path.endsWith('.yaml'),
      });
      expect(config.models[0]?.engine).toMatchObject({ path: reference });
    },
  );

  it('says that a variable needs quotes where YAML takes its braces for its own', () => {
    expect(problems(model('', 'kind: openai, url: "http://h/v1", api_key: ${KEY}'))).toEqual([
      expect.stringMatching(/offpeak\.yaml:3: .*Between \{ \} and \[ \] it needs quotes: "\$\{KEY\}"\./),
    ]);
  });

  it('C26: takes a salt for prefix caches only for servers that use it', () => {
    const salted = (more: string) =>
      problems(model('', `kind: openai, cache_salt: "${long}", ${more}`)).map((text) =>
        text.replace(/^.*cache_salt: /, ''),
      );
    expect(salted('flavor: vllm, url: "http://h/v1"')).toEqual([]);
    expect(salted('flavor: { like: sglang }, url: "http://h/v1"')).toEqual([]);
    expect(salted('url: "http://h/v1"')).toEqual([
      'has no effect on a server without a configured flavor. It needs flavor: vllm or sglang.',
    ]);
    expect(salted('flavor: vllm, urls: [{ url: "http://h/v1", flavor: ollama }]')).toEqual([
      'has no effect on a server of flavor ollama. It needs flavor: vllm or sglang.',
    ]);
    expect(problems(model('', 'kind: openai, cache_salt: short, flavor: vllm, url: "http://h/v1"'))).toEqual([
      expect.stringContaining('must have at least 32 characters'),
    ]);
  });

  it('C20: takes keys for stored secrets from files and the environment, not easily guessed ones', () => {
    expect(load(null)).toMatchObject({ acceptedSecretsKeys: [] });
    const yaml = `secrets_key: "${long}1"\naccepted_secrets_keys: ["${long}2"]\n`;
    expect(load(yaml)).toMatchObject({ secretsKey: `${long}1`, acceptedSecretsKeys: [`${long}2`] });
    expect(load(yaml, { env: { OFFPEAK_SECRETS_KEY: `${long}3` } })).toMatchObject({
      secretsKey: `${long}3`,
    });
    expect(problems(`secrets_key: short\naccepted_secrets_keys: [${'a'.repeat(40)}]\n`)).toEqual([
      expect.stringContaining('secrets_key: must have at least 32 characters'),
      expect.stringContaining('accepted_secrets_keys[0]: is too easy to guess'),
    ]);
  });

  it('reads a key from a file', () => {
    const config = load(model('', 'kind: openai, url: "http://h/v1", api_key: "${file:/run/secrets/x}"'));
    expect(config.models[0]?.engine).toMatchObject({ replicas: [{ apiKey: 'from-a-file' }] });
  });
});

describe('fetched models', () => {
  it('stand with the data, and come from the public hub', () => {
    expect(load('data: d\n')).toMatchObject({
      modelFolder: `${folder}/d/models`,
      hub: { endpoint: 'https://huggingface.co', token: null },
    });
  });

  it('may stand elsewhere and come from elsewhere', () => {
    const yaml = 'model_folder: m\nhub: { endpoint: "https://mirror/hf/", token: "${T}" }\n';
    expect(load(yaml, { env: { T: 'hf_t' } })).toMatchObject({
      modelFolder: `${folder}/m`,
      hub: { endpoint: 'https://mirror/hf', token: 'hf_t' },
    });
    const env = {
      T: 'hf_t',
      OFFPEAK_MODEL_FOLDER: '/big',
      OFFPEAK_HF_ENDPOINT: 'http://127.0.0.1:9',
      OFFPEAK_HF_TOKEN: 'x',
    };
    expect(load(yaml, { env })).toMatchObject({
      modelFolder: '/big',
      hub: { endpoint: 'http://127.0.0.1:9', token: 'x' },
    });
  });
});

describe('files', () => {
  const keys = { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' };

  it('are kept under the data folder, unless a bucket is named', () => {
    expect(load('files: disk\n').files.bucket).toBeUndefined();
    expect(load('files: { purposes: [batch, vision] }\n').files.bucket).toBeUndefined();
    const env = { ...keys, AWS_SESSION_TOKEN: 't', AWS_REGION: 'eu-north-1' };
    expect(load('files: s3://bucket\n', { env }).files).toMatchObject({
      purposes: ['batch'],
      bucket: {
        bucket: 'bucket',
        prefix: '',
        endpoint: 'https://s3.eu-north-1.amazonaws.com',
        region: 'eu-north-1',
        pathStyle: false,
        keys: { kind: 'static', accessKey: 'a', secretKey: 'b', sessionToken: 't' },
      },
    });
  });

  it('may be in any store that speaks S3, with what the file says before what the environment says', () => {
    const yaml =
      'files: { store: s3://one/a/b/, bytes: 5 }\ns3: { endpoint: "http://minio:9000/", region: garage, access_key: c, secret_key: d }\n';
    const env = { ...keys, AWS_SESSION_TOKEN: 't', AWS_REGION: 'x', AWS_ENDPOINT_URL: 'http://y' };
    const bucket = {
      bucket: 'one',
      prefix: 'a/b/',
      endpoint: 'http://minio:9000',
      region: 'garage',
      pathStyle: true,
      keys: { kind: 'static', accessKey: 'c', secretKey: 'd', sessionToken: undefined },
    };
    expect(load(yaml, { env }).files).toMatchObject({ bytes: 5, bucket });
    expect(load(yaml, { env: { OFFPEAK_FILES: 's3://two' } }).files.bucket?.bucket).toBe('two');
    expect(load(yaml, { env: { OFFPEAK_FILES: 's3://two' } }).files.bytes).toBe(5);
    const outside = { ...keys, OFFPEAK_FILES: 's3://two/x', AWS_ENDPOINT_URL_S3: 'https://s3.example' };
    expect(load(null, { env: outside }).files.bucket).toMatchObject({
      endpoint: 'https://s3.example',
      region: 'us-east-1',
      pathStyle: true,
    });
  });
});

describe('the read cache of a bucket', () => {
  const s3 = 's3: { access_key: c, secret_key: d';

  it('has 64 MiB, another limit, or none', () => {
    expect(load(`files: s3://one\n${s3} }\n`).files.cacheBytes).toBe(64 * 1024 * 1024);
    const back = `files: { fallback: s3://one }\n${s3}, cache_bytes: 5000 }\n`;
    expect(load(back).files.cacheBytes).toBe(5000);
    expect(load(`files: s3://one\n${s3}, cache_bytes: 0 }\n`).files.cacheBytes).toBe(0);
    expect(() => load(`files: s3://one\n${s3}, cache_bytes: -1 }\n`)).toThrow('cache_bytes');
  });
});

describe('files that are moved', () => {
  const s3 = 's3: { access_key: c, secret_key: d }\n';

  it('have a store and a fallback of the other kind', () => {
    const into = load(`files: { store: s3://one, fallback: disk }\n${s3}`).files;
    expect([into.bucket?.bucket, into.fallback]).toEqual(['one', {}]);
    const back = load(`files: { fallback: s3://one/x }\n${s3}`).files;
    expect([back.bucket, back.fallback?.bucket?.prefix]).toEqual([undefined, 'x/']);
  });

  it.each([
    '{ store: disk, fallback: disk }',
    '{ store: s3://one, fallback: s3://two }',
    '{ fallback: disk }',
  ])('are refused as %s', (files) => {
    expect(() =>
      load(`files: ${files}\n`, { env: { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' } }),
    ).toThrow('files.fallback: must be the other kind of store');
  });
});

describe('the keys of a bucket', () => {
  const keysOf = (env: Record<string, string>, yaml = 'files: s3://bucket\n') =>
    load(yaml, { env }).files.bucket?.keys;
  const role = { AWS_ROLE_ARN: 'arn:aws:iam::1:role/x', AWS_WEB_IDENTITY_TOKEN_FILE: '/var/run/token' };

  it('come from the first origin that the environment names', () => {
    const all = {
      ...role,
      AWS_REGION: 'eu-west-1',
      AWS_SHARED_CREDENTIALS_FILE: '/etc/keys',
      AWS_PROFILE: 'prod',
      AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://169.254.170.23/v1/credentials',
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: '/var/run/pod',
    };
    expect(keysOf({ ...all, AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' })).toMatchObject({
      kind: 'static',
    });
    expect(keysOf(all)).toEqual({
      kind: 'web_identity',
      roleArn: role.AWS_ROLE_ARN,
      tokenFile: '/var/run/token',
      sessionName: 'offpeak',
      endpoint: 'https://sts.eu-west-1.amazonaws.com',
    });
    const { AWS_ROLE_ARN: _, ...noRole } = all;
    expect(keysOf(noRole)).toEqual({ kind: 'file', path: '/etc/keys', profile: 'prod' });
    const { AWS_SHARED_CREDENTIALS_FILE: _1, AWS_PROFILE: _2, ...noFile } = noRole;
    expect(keysOf(noFile)).toEqual({
      kind: 'container',
      url: 'http://169.254.170.23/v1/credentials',
      token: undefined,
      tokenFile: '/var/run/pod',
    });
    expect(keysOf({ AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/v2/credentials/1' })).toMatchObject({
      url: 'http://169.254.170.2/v2/credentials/1',
    });
    expect(keysOf({})).toEqual({ kind: 'instance', endpoint: 'http://169.254.169.254' });
  });

  it('are missing where only an instance could have them', () => {
    const other = 'files: s3://bucket\ns3: { endpoint: "http://minio:9000" }\n';
    expect(() => keysOf({}, other)).toThrow(/needs credentials for the bucket/);
    expect(() => keysOf({ AWS_EC2_METADATA_DISABLED: 'true' })).toThrow(/needs credentials for the bucket/);
  });
});

describe('the servers of a model', () => {
  it('may be several, each with what differs', () => {
    const engine =
      'kind: openai, api_key: k, slots: 8, urls: ["http://a/v1", { url: "http://b/v1", slots: auto, weight: 2, drain: true }]';
    expect(load(model('', engine)).models[0]?.engine).toMatchObject({
      replicas: [
        { url: 'http://a/v1', apiKey: 'k', slots: 8, weight: 1, drain: false },
        { url: 'http://b/v1', apiKey: 'k', slots: null, weight: 2, drain: true },
      ],
    });
  });
});

describe('servers of several kinds', () => {
  it('have each a name of the model and a flavor of their own', () => {
    const engine =
      'kind: openai, model: m, flavor: vllm, urls: ["http://a/v1", { url: "http://b/v1", model: n, flavor: openai }]';
    const found = load(model('', engine)).models[0]?.engine;
    const [one, other] = found?.kind === 'openai' ? found.replicas : [];
    expect(found).toMatchObject({ model: 'm', flavor: 'vllm' });
    expect([one?.model, one?.kind]).toEqual([undefined, undefined]);
    expect(other).toMatchObject({ model: 'n', kind: { flavor: 'openai' } });
  });
});

describe('what is wrong', () => {
  it.each<[string, string, string]>([
    [
      'an unknown key',
      'server:\n  prot: 1\n',
      "offpeak.yaml:2: server.prot: unknown key. Did you mean 'port'?",
    ],
    ['a wrong type', 'server:\n  port: "x"\n', 'offpeak.yaml:2: server.port: expected a number, found "x"'],
    [
      'files without those of batches',
      'files: { purposes: [user_data] }\n',
      'files.purposes: must include batch',
    ],
    ['a port out of range', 'server: { port: 70000 }\n', 'server.port: must be from 0 to 65535, not 70000'],
    [
      'a duplicate id',
      model('  - id: m\n    engine: { kind: scripted }\n'),
      "offpeak.yaml:4: models[1].id: 'm' is already used",
    ],
    [
      'a duplicate alias',
      model('    aliases: [a, a]\n'),
      "offpeak.yaml:4: models[0].aliases[1]: 'a' is already used",
    ],
    [
      'an alias that is an id',
      model('    aliases: [m]\n'),
      "models[0].aliases[0]: 'm' is already used by models[0].id",
    ],
    [
      'a missing model file',
      model('', 'kind: llama, path: my.bin'),
      'models[0].engine.path: there is no file /srv/offpeak/my.bin',
    ],
    [
      'a reference that is none',
      model('', 'kind: llama, path: "hf:owner/m.gguf"'),
      'offpeak.yaml:3: models[0].engine.path: is not a valid hub reference. Write hf:owner/repo/file.gguf',
    ],
    [
      'a model over an open connection',
      model('', 'kind: llama, path: "http://host/m.gguf"'),
      'models[0].engine.path: must be an https:// URL',
    ],
    [
      'a hub over an open connection',
      'hub: { endpoint: "http://hub" }\n',
      'offpeak.yaml:1: hub.endpoint: must be an https:// URL',
    ],
    ['no model path', model('', 'kind: llama'), 'offpeak.yaml:3: models[0].engine: needs the path'],
    [
      'an unknown engine',
      model('', 'kind: lama'),
      "models[0].engine.kind: must be one of llama, openai, job, scripted. Did you mean 'llama'?",
    ],
    [
      'a flavor as the kind',
      model('', 'kind: vllm'),
      "models[0].engine.kind: 'vllm' is a flavor, not a kind. Every HTTP server has the kind openai: write kind: openai and flavor: vllm.",
    ],
    ['no engine', 'models: [ { id: a } ]\n', 'models[0]: needs an engine'],
    ['no id', 'models: [ { engine: { kind: scripted } } ]\n', 'models[0]: needs an id'],
    ['no models', 'models: []\n', 'models: must name at least one model'],
    [
      'models that are commented out',
      'models:\n#  - id: m\n',
      'offpeak.yaml:1: models: must name at least one model. Leave models out for the built-in model.',
    ],
    ['a model for nothing', model('    serves: []\n'), 'models[0].serves: must name at least one capability'],
    [
      'a context in words',
      model('', 'kind: llama, path: m.gguf, context: all'),
      'models[0].engine.context: expected a number or auto, found "all"',
    ],
    ['lines of any size', 'limits: { line_bytes: 1e12 }\n', 'limits.line_bytes: must be from 1024 to'],
    ['no url', model('', 'kind: openai, urls: []'), 'needs a url'],
    [
      'a user in a URL, whom no call would name',
      model('', 'kind: openai, url: "http://u:p@a/v1"'),
      'offpeak.yaml:3: models[0].engine.url: must not contain a user name or password. Write headers:',
    ],
    [
      'a place in a URL that is none',
      model('', 'kind: openai, urls: ["http://a/{modl}/v1"]'),
      'offpeak.yaml:3: models[0].engine.urls[0]: unknown placeholder {modl}. Only {model} is replaced.',
    ],
    [
      'a key that no header carries',
      model('', 'kind: openai, url: http://a/v1, api_key: "“sk”"'),
      'offpeak.yaml:3: models[0].engine.api_key: must be printable characters without spaces',
    ],
    [
      'a key of one server that no header carries',
      model('', 'kind: openai, urls: [{ url: http://a/v1, api_key: "a\\nb" }]'),
      'models[0].engine.urls[0].api_key: must be printable characters without spaces',
    ],
    ['a key of another engine', model('', 'kind: scripted, path: x'), 'models[0].engine.path: unknown key'],
    ['a negative price', model('    price: { input: -1 }\n'), 'models[0].price.input: must be from 0'],
    ['an unknown form of dates', 'batch: { dates: rfc }\n', 'batch.dates: must be one of iso, unix'],
    ['a bad duration', 'batch: { result_ttl: 30 }\n', 'batch.result_ttl: expected a duration, found 30'],
    [
      'hours of no place',
      'batch: { hours: "22:00-06:00 Berlin" }\n',
      'offpeak.yaml:1: batch.hours: unknown time zone Berlin. Name one such as Europe/Berlin.',
    ],
    [
      'hours of no length',
      model('    batch: { hours: "6:00-6:00" }\n'),
      'models[0].batch.hours: expected hours and a time zone. Write "22:00-06:00 Europe/Berlin", or always.',
    ],
    [
      'a share of nothing',
      model('    batch: { share: 0.5 }\n'),
      'models[0].batch.share: has no effect without',
    ],
    [
      'hours that begin after the window',
      'batch: { hours: "22:00-06:00", completion_window: 16h }\n',
      'batch.hours: batches would expire before their hours begin. Set a longer batch.completion_window',
    ],
    [
      'windows beside the short form',
      'batch: { windows: { 1h: 0.8 }, price_factor: 0.5 }\n',
      'batch.price_factor: cannot be combined with windows. Set each window and its price in batch.windows',
    ],
    ['no window', 'batch: { windows: {} }\n', 'batch.windows: expected an object of windows'],
    ['windows in a list', 'batch: { windows: [1h] }\n', 'batch.windows: expected an object of windows'],
    [
      'a window that is not a duration',
      'batch: { windows: { soon: 0.5 } }\n',
      'batch.windows.soon: expected a duration as the name of a window, found "soon"',
    ],
    ['an empty window', 'batch: { windows: { 0h: 0.5 } }\n', 'batch.windows.0h: expected a duration'],
    [
      'a window twice',
      'batch: { windows: { 24h: 0.5, 1d: 0.4 } }\n',
      'batch.windows.1d: names a window twice',
    ],
    ['a price of a window', 'batch: { windows: { 1h: 1.5 } }\n', 'batch.windows.1h: must be from 0 to 1'],
    ['a window without a price', 'batch: { windows: { 1h: } }\n', 'batch.windows.1h: expected a number'],
    ['an unknown role', 'role: queue\n', 'role: must be one of'],
    [
      'a role of several processes on an embedded database',
      'role: worker\n',
      'role: must be all with an embedded database, which only one process uses',
    ],
    ['a database of another kind', 'database: mysql://x\n', 'database: must be sqlite or a postgres:// URL'],
    ['an unknown storage', 'files: gs://b\n', 'files: must be disk or s3://bucket/prefix'],
    [
      'a name that no bucket has',
      'files: s3://My_Bucket\n',
      'files: My_Bucket cannot be the name of a bucket. It has 3 to 63',
    ],
    ['a short name of a bucket', 'files: s3://bk\n', 'files: bk cannot be the name of a bucket'],
    ['a way out of the bucket', 'files: s3://b0/../c\n', 'files: must be disk or s3://bucket/prefix'],
    [
      'a bucket without a key',
      'files: { store: s3://bucket }\ns3: { access_key: a }\n',
      'offpeak.yaml:1: files.store: needs credentials for the bucket. Set s3.access_key and s3.secret_key, or',
    ],
    [
      'a key to no bucket',
      'files: disk\ns3: { access_key: a }\n',
      'offpeak.yaml:2: s3: has no effect while files are stored on disk. Set files: s3://bucket/prefix',
    ],
    ['a list as the whole', '- 1\n', 'expected an object with server'],
  ])('tells %s', (_, yaml, message) => {
    expect(problems(yaml)).toEqual([expect.stringContaining(message)]);
  });

  it('is told all at once, in the order of the file', () => {
    const told = problems('server:\n  port: x\nlogs: 1\nmodels: []\n', { flags: { logLevel: 'loud' } });
    const places = ['2: server.port', '3: logs', '4: models', '--log-level'];
    expect(told).toEqual(places.map((place) => expect.stringContaining(`${place}: `)));
  });

  it('names a flag or a variable as its place', () => {
    expect(problems(null, { flags: { port: 'abc' } })).toEqual(['--port: expected a number, found "abc"']);
    expect(problems(null, { env: { OFFPEAK_LOG_LEVEL: 'inf' } })[0]).toContain(
      'OFFPEAK_LOG_LEVEL: must be one of',
    );
  });

  it('includes a file that is named and not there', () => {
    expect(problems(null, { flags: { config: 'o.yaml' } })).toEqual([
      `${folder}/o.yaml: the configuration file cannot be read. The file does not exist.`,
    ]);
  });
});

describe('keys from outside', () => {
  it('are taken when long enough', () => {
    expect(load(null, { env: { OFFPEAK_API_KEY: long } })).toMatchObject({ apiKey: long });
  });

  it('are refused when short, without being quoted', () => {
    const found = problems(null, { env: { OFFPEAK_ADMIN_KEY: 'sesame' } });
    expect(found).toEqual([expect.stringContaining('OFFPEAK_ADMIN_KEY: must have at least 32 characters')]);
    expect(found.join()).not.toContain('sesame');
  });

  it('are refused when guessable and the server is open to others', () => {
    const env = { OFFPEAK_API_KEY: 'a'.repeat(32) };
    expect(problems(null, { env })).toEqual([]);
    expect(problems(null, { env, flags: { host: '0.0.0.0' } })).toEqual([
      expect.stringContaining('too easy to guess'),
    ]);
    expect(problems(null, { env: { OFFPEAK_API_KEY: long }, flags: { host: '0.0.0.0' } })).toEqual([]);
  });

  it('differ from one another', () => {
    const env = { OFFPEAK_API_KEY: long, OFFPEAK_ADMIN_KEY: long };
    expect(problems(null, { env })).toEqual([expect.stringContaining('must differ')]);
  });
});

describe('clientSettings', () => {
  it('prefers flags to the environment', () => {
    const env = { OFFPEAK_URL: 'http://e', OFFPEAK_API_KEY: 'k', OFFPEAK_ADMIN_KEY: 'a' };
    expect(clientSettings({}, env)).toEqual({ url: 'http://e', key: 'k', adminKey: 'a' });
    expect(clientSettings({ url: 'http://f', key: 'x' }, env)).toEqual({
      url: 'http://f',
      key: 'x',
      adminKey: 'x',
    });
    expect(clientSettings({}, {})).toEqual({
      url: undefined,
      key: undefined,
      adminKey: undefined,
    });
  });
});

describe('fallbacks', () => {
  const read = (fallbacks: string) =>
    loadConfig({
      env: {},
      cwd: '/srv',
      exists: () => true,
      readFile: () =>
        `models:
  - { id: a, engine: { kind: scripted }, fallbacks: ${fallbacks} }
  - { id: bee, aliases: [b], engine: { kind: scripted } }
`,
    }).models[0]!;

  it('are other models, by id or alias', () => {
    expect(read('[b]').fallbacks).toEqual(['bee']);
    expect(read('[b], batch: { fallbacks_after: 10m }').batchFallbacksAfterMs).toBe(600_000);
    expect(() => read('[], batch: { fallbacks_after: soon }')).toThrow('batch.fallbacks_after');
    expect(() => read('[a]')).toThrow('offpeak.yaml:2: models[0].fallbacks[0]: must not be the model itself');
    expect(() => read('[been]')).toThrow("there is no model 'been'. Did you mean 'bee'?");
  });
});

it('a flavor of its own is checked, too', () => {
  const flavor = (fields: string) =>
    problems(model('', `kind: openai, url: http://a/v1, flavor: ${fields}`)).join('\n');
  expect(flavor('{ like: vlm }')).toMatch(/Did you mean 'vllm'/);
  expect(flavor('{ chat_path: generate }')).toMatch(/must begin with \//);
  expect(flavor("{ chat_path: '/{modl}/x' }")).toMatch(/unknown placeholder \{modl\}/);
  expect(flavor("{ chat_path: '/{model}/x' }")).toBe('');
  expect(flavor("{ auth_scheme: 'a b' }")).toMatch(/without spaces/);
  expect(flavor("{ auth_header: 'a b' }")).toMatch(/not a valid header name/);
  expect(flavor('{ finish: { done: end } }')).toMatch(/must be one of stop, length/);
  expect(flavor('{ usage: { tokens: a } }')).toMatch(/unknown key/);
  expect(flavor('{ rename: [seed] }')).toMatch(/expected an object of names/);
  expect(flavor('{ drop: [messages.name, seed] }')).toBe('');
  expect(flavor('{ failures: [{ status: 402, means: 401 }, { says: No., means: 429 }] }')).toBe('');
  expect(flavor('{ failures: [{ status: 400, means: 401 }] }')).toMatch(
    /also matches errors of single requests/,
  );
  expect(flavor('{ failures: [{ means: 401 }] }')).toMatch(/failures\[0\]: has no condition/);
  expect(flavor('{ failures: [{ status: 400, means: 418 }] }')).toMatch(/means must be one of 400, 401/);
  expect(flavor('{ failures: [{ status: 200, means: 401 }] }')).toMatch(/failures\[0\]\.status/);
  expect(flavor('{ effort: [high] }')).toMatch(/expected an object of names/);
});

describe('tracing', () => {
  it('has a collector, headers and a share of traces', () => {
    const yaml =
      'tracing: { endpoint: "http://c:4318/", headers: { X-Key: abc }, sample: 0.1, parent_based: true }\n';
    expect(load(yaml).tracing).toEqual({
      endpoint: 'http://c:4318',
      headers: { 'x-key': 'abc' },
      sample: 0.1,
      parentBased: true,
    });
    expect(load('tracing: { endpoint: "https://c" }\n').tracing).toEqual({
      endpoint: 'https://c',
      headers: {},
      sample: 1,
      parentBased: false,
    });
    expect(load('').tracing).toBeUndefined();
  });

  it.each([
    ['tracing: {}', 'tracing'],
    ['tracing: { endpoint: "c:4318" }', 'tracing.endpoint'],
    ['tracing: { endpoint: "http://c/v1/traces" }', 'tracing.endpoint'],
    ['tracing: { endpoint: "http://c", sample: 2 }', 'tracing.sample'],
    ['tracing: { endpoint: "http://c", headers: { host: x } }', 'tracing.headers.host'],
  ])('is refused where it is wrong: %s', (yaml, where) => {
    expect(problems(`${yaml}\n`)).toEqual([expect.stringMatching(`offpeak.yaml:1: ${where}\\b`)]);
  });
});

describe('metrics', () => {
  it.each([
    ['metrics: {}', { host: '127.0.0.1', port: 9464, orgs: 0 }],
    ['metrics: { host: 0.0.0.0 }', { host: '0.0.0.0', port: 9464, orgs: 0 }],
    ['metrics: { port: 0, orgs: 20 }', { host: '127.0.0.1', port: 0, orgs: 20 }],
    ['metrics:', undefined],
  ])('are read where the file says: %s', (yaml, where) => {
    expect(load(`${yaml}\n`).metrics).toEqual(where);
  });

  it.each([
    ['metrics: true', 'metrics'],
    ['metrics: { port: 70000 }', 'metrics.port'],
    ['metrics: { orgs: 1001 }', 'metrics.orgs'],
    ['metrics: { path: /x }', 'metrics.path'],
  ])('are refused: %s', (yaml, where) => {
    expect(problems(`${yaml}\n`)).toEqual([expect.stringMatching(`offpeak.yaml:1: ${where}\\b`)]);
  });
});
