import { wholePage } from '../base/page-slices.ts';
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { countTurns } from '../../test/support/count-turns.ts';
import { callerFor, startFiles, type FileRules } from '../../test/support/files.ts';
import { BlobError } from '../core/blob-error.ts';
import { ApiError } from '../core/errors.ts';
import type { CheckSchema } from './distinct-schemas.ts';
import type { SealedUpload, UploadOptions } from './files.ts';

const caller = callerFor('org_1');
const meta = { filename: 'in.jsonl', expiresAt: null };
const chat = (content: string, model = 'tiny') => ({ model, messages: [{ role: 'user', content }] });
const line = (customId: string, body: object = chat('hi')) =>
  JSON.stringify({ custom_id: customId, method: 'POST', url: '/v1/chat/completions', body });
const lines = (count: number) => Array.from({ length: count }, (_, at) => line(`id-${at}`));

let system: Awaited<ReturnType<typeof startFiles>>;
const restart = async (limits: FileRules) => {
  await system.stop();
  system = await startFiles(limits);
};
beforeEach(async () => {
  system = await startFiles();
});
afterEach(() => system.stop());

async function seal(
  content: string | Uint8Array,
  chunk = 1 << 16,
  options?: UploadOptions,
): Promise<SealedUpload> {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  const upload = await system.files.begin(caller, options);
  for (let at = 0; at < bytes.length; at += chunk) await upload.write(bytes.subarray(at, at + chunk));
  return upload.seal(meta);
}

async function refusal(
  content: string | Uint8Array,
  chunk?: number,
  options?: UploadOptions,
): Promise<ApiError> {
  try {
    await seal(content, chunk, options);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error('was accepted');
}

/** Nothing of a refused upload is left anywhere. */
async function expectNothingStored(): Promise<void> {
  expect([...system.blobs.stored.keys()]).toEqual([]);
  expect((await wholePage(system.files.list(caller, { order: 'desc', limit: 10 }))).items).toEqual([]);
}

describe('an upload', () => {
  it('is checked in slices that take turns with those of other orgs, one per turn of the event loop (attack 5)', async () => {
    const bytes = Buffer.from(`${lines(2_000).join('\n')}\n`);
    const slices = Math.ceil(bytes.length / (32 * 1024));
    const { turn, stop } = countTurns();
    const ends: [orgId: string, turn: number][] = [];
    const send = async (orgId: string) => {
      const upload = await system.files.begin(callerFor(orgId), {});
      await upload.write(bytes);
      ends.push([orgId, turn()]);
      await upload.abort();
    };
    await Promise.all([send('org_1'), send('org_1'), send('org_1'), send('org_2')]);
    stop();
    expect(ends[0]![0]).toBe('org_2');
    expect(ends[0]![1]).toBeLessThan(3 * slices);
    expect(ends.at(-1)![1]).toBeGreaterThanOrEqual(4 * slices);
  });

  it('asks the other processes once before it rejects an unknown model', async () => {
    const { catalog } = system;
    let asked = 0;
    const known = catalog.find.bind(catalog);
    catalog.refresh = async () => {
      asked++;
      catalog.find = (name) => known(name === 'new' ? 'tiny' : name);
    };
    const content = [line('a'), line('b', chat('hi', 'new')), line('c', chat('hi', 'new'))];
    expect((await seal(content.join('\n'))).index.models).toEqual(['tiny', 'new']);
    const { faults } = await refusal(
      [line('a', chat('hi', 'none')), line('b', chat('hi', 'none'))].join('\n'),
    );
    expect(faults.map(({ code }) => code)).toEqual(['model_not_found', 'model_not_found']);
    expect(asked).toBe(2);
  });

  it('is stored byte for byte, with its sum, its endpoint and an index into it', async () => {
    const content = `\ufeff${line('a', chat('é日😀'))}\r\n\n${line('b', { ...chat('x'), max_tokens: 5 })}`;
    for (const chunk of [1, 7, 1 << 16]) {
      const sealed = await seal(content, chunk);
      const { file, index } = sealed;
      const stored = system.blobs.stored.get(file.blobId)!;
      expect(Buffer.from(stored).toString()).toBe(content);
      expect(file).toMatchObject({
        orgId: 'org_1',
        purpose: 'batch',
        bytes: stored.length,
        requests: 2,
        endpoint: '/v1/chat/completions',
        sha256: createHash('sha256').update(content).digest('hex'),
        filename: 'in.jsonl',
      });
      const texts = [...index.offset].map((offset, at) =>
        Buffer.from(stored.subarray(offset, offset + index.length[at]!)).toString(),
      );
      expect(texts).toEqual([line('a', chat('é日😀')), line('b', { ...chat('x'), max_tokens: 5 })]);
      expect([index.count, index.models]).toEqual([2, ['tiny']]);
      expect(index.est[1]).toBe(Math.ceil(index.length[1]! / 4) + 5);
      expect(await system.files.index(file)).toEqual(index);
    }
  });

  it('is not visible before it is committed, nor after it is discarded', async () => {
    const sealed = await seal(line('a'));
    await expect(system.files.get(caller, sealed.file.id)).rejects.toMatchObject({ code: 'not_found' });
    await sealed.commit(undefined);
    expect(await system.files.get(caller, sealed.file.id)).toEqual(sealed.file);
    const other = await seal(line('a'));
    await other.discard();
    expect([...system.blobs.stored.keys()].filter((name) => name.startsWith(other.file.blobId))).toEqual([]);
  });

  it('counts its expiry from the same instant as its creation', async () => {
    const upload = await system.files.begin(caller);
    await upload.write(Buffer.from(line('a')));
    const { file } = await upload.seal({ filename: 'x', createdAt: 5_000, expiresAt: 3_605_000 });
    expect([file.createdAt, file.expiresAt]).toEqual([5_000, 3_605_000]);
  });

  it('keeps the prefixes and models of a mixed file apart', async () => {
    const system1 = 'be kind, '.repeat(300);
    const body = (start: string, model: string) => ({
      model,
      messages: [
        { role: 'system', content: start + system1 },
        { role: 'user', content: 'x' },
      ],
    });
    const { index } = await seal(
      [line('a', body('1', 'tiny')), line('b', body('2', 'tiny')), line('c', body('1', 'tiny'))].join('\n'),
    );
    const levels = [0, 1, 2].map((at) => [...index.hashes.subarray(at * 8, at * 8 + 8)]);
    expect(levels[0]).toEqual(levels[2]);
    expect(levels[0]![0]).not.toBe(levels[1]![0]);
    expect(levels[0]![3]).toBeGreaterThan(0);
  });
});

describe('a refused upload', () => {
  afterEach(expectNothingStored);

  it.each(['', '\n\n\r\n', '\ufeff'])('B01: %j is empty_file', async (content) => {
    expect(await refusal(content)).toMatchObject({ status: 422, code: 'empty_file' });
  });

  it('tells every bad line at once, with number, custom_id and path', async () => {
    const content = [
      line('a'),
      '{"custom_id":',
      line('b', chat('x', 'nope')),
      '',
      line('a'),
      line('c', { ...chat('x'), n: 99 }),
    ].join('\n');
    const error = await refusal(content, 10);
    expect(error).toMatchObject({ status: 422, code: 'invalid_json_line' });
    expect(error.message).toMatch(/^line 2: invalid JSON.*\(4 faults in all, 4 bad lines\)$/);
    expect(error.faults.map(({ line: at, custom_id: id, param, code }) => [at, id, param, code])).toEqual([
      [2, undefined, undefined, 'invalid_json_line'],
      [3, 'b', 'body.model', 'model_not_found'],
      [5, 'a', 'custom_id', 'duplicate_custom_id'],
      [6, 'c', 'body.n', 'validation_error'],
    ]);
  });

  it('B19: a model that does not exist is a 422 here, not a 404', async () => {
    expect(await refusal(line('a', chat('x', 'nope')))).toMatchObject({
      status: 422,
      code: 'model_not_found',
      kind: 'invalid',
      param: 'body.model',
    });
    expect(await refusal(line('a', { model: 'vectors', messages: [] }))).toMatchObject({ status: 422 });
  });

  it('tells the first hundred faults and the total', async () => {
    const error = await refusal(Array.from({ length: 150 }, () => '{"').join('\nx\n'));
    expect([error.faults.length, error.faults[99]?.line]).toEqual([100, 100]);
    expect(error.message).toContain('299 faults in all, 299 bad lines');
  });

  it('finds the one bad line at the very end', async () => {
    const error = await refusal([...lines(500), '{"a":1'].join('\n'), 999);
    expect(error.faults).toMatchObject([{ line: 501, code: 'invalid_json_line' }]);
  });

  it('B07: names line and byte of what is not UTF-8', async () => {
    const content = Buffer.concat([
      Buffer.from(`${line('a')}\n{"x":"`),
      Buffer.from([0xff]),
      Buffer.from('"}\n'),
    ]);
    const error = await refusal(content);
    expect(error).toMatchObject({ code: 'invalid_encoding', faults: [{ line: 2 }] });
    expect(error.message).toContain(`byte ${line('a').length + 7} of the file`);
  });

  it.each([
    ['UTF-16', Buffer.from(`\ufeff${line('a')}`, 'utf16le')],
    ['gzip', Buffer.from('1f8b0800', 'hex')],
    ['JSON array', Buffer.from(`[${line('a')}]`)],
    ['pretty-printed JSON', Buffer.from(JSON.stringify({ a: 1 }, null, 2))],
    ['CSV', Buffer.from('custom_id,prompt\na,b\n')],
  ])('B08, B09: names %s once', async (what, content) => {
    const error = await refusal(content);
    expect(error.status).toBe(422);
    expect(error.message).toContain(what);
    expect(error.faults).toHaveLength(1);
  });

  it('B28: a line over the cap', async () => {
    await restart({ lineBytes: 1_000 });
    const error = await refusal([line('a'), line('b', chat('x'.repeat(2_000))), line('c')].join('\n'), 100);
    expect(error).toMatchObject({ code: 'line_too_long', faults: [{ line: 2 }] });
  });

  it('B29: more requests than the cap, told alone and first', async () => {
    await restart({ requests: 20 });
    const error = await refusal([...lines(20), '{', '{'].join('\n'));
    expect(error).toMatchObject({ status: 422, code: 'too_many_tasks' });
    expect(error.message).toContain('more than 20 requests');
  });

  it('B30: a file over the byte cap, as soon as it is crossed', async () => {
    await restart({ bytes: 1_000 });
    const upload = await system.files.begin(caller);
    await upload.write(Buffer.alloc(1_000, 0x20));
    await expect(upload.write(Buffer.from(' '))).rejects.toMatchObject({
      status: 413,
      code: 'payload_too_large',
      message: expect.stringMatching(/1000 bytes.*limits\.bytes_per_batch.*batch run splits/),
    });
    await expect(upload.write(Buffer.from(' '))).rejects.toThrow('has ended');
  });

  it('C05: a model that the key may not use', async () => {
    const upload = await system.files.begin({ ...caller, models: ['vectors'] });
    await upload.write(Buffer.from(line('a')));
    await expect(upload.seal(meta)).rejects.toMatchObject({ status: 422, code: 'model_not_allowed' });
  });

  it('names requests of an inline batch instead of lines', async () => {
    const error = await refusal(`[1]\n${line('a')}\n${line('a')}\n`, 10, { source: 'inline' });
    expect(error.faults).toMatchObject([
      { param: 'requests[0]', code: 'invalid_json_line' },
      { param: 'requests[2].custom_id', code: 'duplicate_custom_id' },
    ]);
    expect(error.faults.some(({ line: at }) => at !== undefined)).toBe(false);
  });

  it('leaves nothing when it is aborted, twice or before anything came', async () => {
    const upload = await system.files.begin(caller);
    await upload.abort();
    const other = await system.files.begin(caller);
    await other.write(Buffer.from(line('a')));
    await other.abort();
    await other.abort();
  });

  it('F38: asks no store to remove what it did not take', async () => {
    const upload = await system.files.begin(caller);
    await upload.write(Buffer.from(line('a')));
    const create = system.blobs.create.bind(system.blobs);
    system.blobs.create = async (name) => ({
      ...(await create(name)),
      commit: () => Promise.reject(new BlobError('unavailable', 'It is silent.', 'Look.')),
    });
    const removed: string[] = [];
    system.blobs.remove = async (name) => void removed.push(name);
    await expect(upload.seal(meta)).rejects.toMatchObject({ code: 'unavailable' });
    expect(removed).toEqual([]);
  });

  it('F36: leaves nothing when the disk takes no more', async () => {
    for (const failing of ['write', 'commit']) {
      const upload = await system.files.begin(caller);
      await upload.write(Buffer.from(line('a')));
      const create = system.blobs.create.bind(system.blobs);
      system.blobs.create = async (name) => {
        const writer = await create(name);
        return { ...writer, [failing]: () => Promise.reject(new ApiError('insufficient_storage', 'full')) };
      };
      await expect(upload.seal(meta)).rejects.toMatchObject({ code: 'insufficient_storage' });
      system.blobs.create = create;
    }
  });
});

describe('limits that are exactly met', () => {
  it('B29: as many requests and bytes as allowed are accepted', async () => {
    const content = lines(20).join('\n');
    await restart({
      requests: 20,
      bytes: content.length,
      lineBytes: Math.max(...lines(20).map((text) => text.length)),
    });
    expect((await seal(content, 13)).file.requests).toBe(20);
  });

  it('lets everybody else have a turn while a large file is checked', async () => {
    const content = Buffer.from(lines(5_000).join('\n'));
    let turns = 0;
    let going = true;
    const turn = () => {
      turns += 1;
      if (going) setImmediate(turn);
    };
    setImmediate(turn);
    await seal(content, content.length);
    going = false;
    expect(turns).toBeGreaterThanOrEqual(Math.floor(content.length / 65_536));
  });
});

describe('the schemas in an upload', () => {
  const withTool = (parameters: object) => ({
    ...chat('hi'),
    tools: [{ type: 'function', function: { name: 'f', strict: true, parameters } }],
  });
  const withFormat = (schema: object) => ({
    ...chat('hi'),
    response_format: { type: 'json_schema', json_schema: { name: 'n', schema } },
  });
  const checkedBy = async (check: CheckSchema) => {
    await system.stop();
    system = await startFiles({}, check);
  };
  const bad: CheckSchema = async ({ schema, where }) =>
    'pattern' in (schema as object)
      ? { param: `${where}#/pattern`, code: 'validation_error', message: 'a bad pattern' }
      : null;

  it('are tried once each, and a bad one is told with its line and its place', async () => {
    const tried: string[] = [];
    await checkedBy((given, orgId) => {
      tried.push(`${orgId} ${given.where}`);
      return bad(given, orgId);
    });
    const good = { type: 'object' };
    const functions = { functions: [{ name: 'f', parameters: { pattern: '[' } }] };
    const regex = { type: 'grammar', grammar: { syntax: 'regex', definition: '[a-z]+' } };
    const file = [
      line('a', withTool(good)),
      line('b', withFormat({ pattern: '(' })),
      line('c', withFormat({ pattern: '(' })),
      line('d', withTool(good)),
      line('e', { ...chat('hi'), ...functions, function_call: { name: 'f' } }),
      line('f', { ...chat('hi'), tools: [{ type: 'custom', custom: { name: 'a', format: regex } }] }),
      line('g', { ...chat('hi'), tools: [{ type: 'custom', custom: { name: 'b' } }] }),
    ].join('\n');
    const { status, faults, message } = await refusal(file);
    expect([status, message]).toEqual([422, expect.stringContaining('line 2, body.response_format')]);
    expect(faults).toEqual([
      {
        line: 2,
        custom_id: 'b',
        param: 'body.response_format.json_schema.schema#/pattern',
        code: 'validation_error',
        message: 'a bad pattern',
      },
      expect.objectContaining({ line: 5, param: 'body.functions[0].parameters#/pattern' }),
    ]);
    expect(tried).toEqual([
      'org_1 tools[0].function.parameters',
      'org_1 response_format.json_schema.schema',
      'org_1 functions[0].parameters',
      'org_1 tools[0].custom.format',
    ]);
    await expectNothingStored();
  });

  it('are not tried where no call has to conform to them', async () => {
    const tried: string[] = [];
    await checkedBy(async ({ schema, where }) => {
      tried.push(`${where} ${JSON.stringify(schema)}`);
      return null;
    });
    const tool = (name: string, more: object = {}) => ({
      type: 'function',
      function: { name, parameters: { title: name }, ...more },
    });
    const tools = [tool('a'), tool('b', { strict: true }), tool('c', { strict: false })];
    const functions = [{ name: 'd', parameters: { title: 'd' } }];
    const named = { type: 'function', function: { name: 'a' } };
    const asked: Record<string, object> = {
      none: { tools, tool_choice: 'none' },
      old: { functions },
      'old auto': { functions, function_call: 'auto' },
      named: { tools, tool_choice: named },
      auto: { tools },
    };
    await seal(
      Object.entries(asked)
        .map(([id, more]) => line(id, { ...chat('hi'), ...more }))
        .join('\n'),
    );
    expect(tried).toEqual([
      'tools[0].function.parameters {"title":"a"}',
      'tools[1].function.parameters {"title":"b"}',
    ]);
  });

  it('are tried as they are written, also where that is not ASCII', async () => {
    const tried: unknown[] = [];
    await checkedBy(async ({ schema }) => {
      tried.push(schema);
      return null;
    });
    const schema = { properties: { größe: { enum: ['日本語', '😀'] } } };
    await seal(line('a', withFormat(schema)));
    expect(tried).toEqual([schema]);
  });

  it('are told by their request in an inline batch', async () => {
    await checkedBy(bad);
    const { faults } = await refusal(`${line('a')}\n${line('b', withTool({ pattern: '(' }))}`, undefined, {
      source: 'inline',
    });
    expect(faults[0]?.param).toBe('requests[1].body.tools[0].function.parameters#/pattern');
  });

  it('are tried up to a number, so that many good ones are neither refused nor waited for', async () => {
    let tried = 0;
    await checkedBy(async () => {
      tried += 1;
      return null;
    });
    const many = Array.from({ length: 10_000 }, (_, at) => line(`${at}`, withTool({ title: `${at}` })));
    expect((await seal(many.join('\n'))).file.requests).toBe(10_000);
    expect(tried).toBe(256);
  });

  it('delay an upload by at most five seconds', async () => {
    await checkedBy(() => new Promise(() => {}));
    const upload = await system.files.begin(caller);
    await upload.write(Buffer.from(line('a', withTool({}))));
    const sealing = upload.seal(meta);
    await system.clock.advance(5_000);
    expect((await sealing).file.requests).toBe(1);
  });
});
