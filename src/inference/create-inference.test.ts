import { beforeEach, describe, expect, it } from 'vitest';
import type { EmbeddingsResponse } from '../wire/embeddings/embeddings.ts';
import {
  chatChunk,
  chatRequest,
  chatResponse,
  createFakeEngine,
  type FakeEngine,
  usage as usageOf,
  usageChunk,
} from '../../test/support/fake-engine.ts';
import { createInlineSchemas } from '../../test/support/inline-schemas.ts';
import { noReservation } from '../accounts/reservations.ts';
import { noBudgets } from '../../test/support/no-budgets.ts';
import { createManualClock } from '../../test/support/manual-clock.ts';
import { createTestPool } from '../../test/support/test-pool.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { createIds } from '../base/ids.ts';
import { silent } from '../base/log.ts';
import { systemRandom } from '../base/system.ts';
import { ApiError } from '../core/errors.ts';
import type { Model } from '../core/model.ts';
import type { NativeEvent } from '../engines/engines.ts';
import type { ChatChunk, ChatChunks, ChatRequest } from '../wire/chat/chat.ts';
import { createInference } from './create-inference.ts';
import type { AnswerIdentity, NativeAnswer } from '../wire/prepared/prepared-request.ts';
import { lineFormats } from '../wire/batch/line-formats.ts';
import type { InferenceService, InteractiveCall } from './inference.ts';
import type { Schemas } from './schemas/schemas.ts';

const prices = { input: 1, cachedInput: 1, output: 1 };
const laterPrices = { input: 2, cachedInput: 2, output: 2 };
const laterPricesFrom = Date.UTC(2027, 0, 1);
const model = (id: string, serves: Model['serves']): Model => ({
  id,
  aliases: [`${id}-alias`],
  serves,
  prices: { ...prices, changes: [{ ...laterPrices, from: laterPricesFrom }] },
  createdAt: 0,
});

describe('createInference', () => {
  let engine: FakeEngine;
  let billedAt: number;
  let charged: Parameters<Accounts['charge']>[0][];
  let service: InferenceService;
  let call: InteractiveCall;
  let schemas: Schemas;

  beforeEach(() => {
    engine = createFakeEngine();
    charged = [];
    billedAt = 0;
    const clock = createManualClock();
    schemas = createInlineSchemas(clock);
    service = createInference({
      models: [
        { model: model('m', ['chat']), pool: createTestPool(engine, { clock, isShared: true }) },
        { model: model('vectors', ['embeddings']), pool: createTestPool(createFakeEngine(), { clock }) },
      ],
      accounts: {
        charge: (entry) => void charged.push(entry),
        budgets: noBudgets,
        billingClock: { now: () => billedAt },
      },
      schemas,
      clock,
      ids: createIds(clock, systemRandom),
      log: silent,
    });
    call = {
      caller: { orgId: 'org_1', keyId: 'key_1', scopes: [], models: null },
      requestId: 'req_1',
      endpoint: '/v1/chat/completions',
      signal: new AbortController().signal,
    };
  });

  it('tells the pool which requests share a prompt prefix', async () => {
    engine.answers = [chatResponse('ok')];
    const said = (system: string, user: string) =>
      chatRequest({
        model: 'm',
        messages: [
          { role: 'system', content: system },
          { role: 'user', content: user },
        ],
      });
    for (const request of [said('a', '1'), said('a', '2'), said('b', '1')])
      await service.inference.chat(request, call);
    const prefixes = engine.calls.map((asked) => asked.call.prefix);
    expect(prefixes[0]).toBe(prefixes[1]);
    expect(prefixes[0]).not.toBe(prefixes[2]);
    expect(prefixes[0]).not.toBe('');
  });

  describe('native requests', () => {
    const given = { request: { value: {}, text: '{}' }, chat: chatRequest().value };
    const counted = usageOf(60, 7, 30);
    const charge = {
      usage: { inputTokens: 60, cachedTokens: 30, cacheWriteTokens: 0, outputTokens: 7, reasoningTokens: 0 },
      endpoint: '/v1/chat/completions',
    };
    const begun = { type: 'message_start', data: '{"message":{"id":"x","model":"y"}}', promptTokens: 60 };
    const events: NativeEvent[] = [begun, { type: 'ping', data: '{}' }];

    const named = ({ text }: NativeAnswer, { id, model: name }: AnswerIdentity) =>
      `${text} as ${id} of ${name}`;
    const typeOf = ({ type }: NativeEvent) => type;

    function natively(stream: () => AsyncGenerator<NativeEvent[]>): void {
      const ask = async () => ({ text: '{"n":1.0}', fields: { n: 1 }, usage: counted });
      Object.assign(engine, { native: { generate: ask, stream } });
    }

    it('is answered under our id and the public name, and charged', async () => {
      natively(async function* () {});
      const answer = await service.inference.native('messages', given, call, named);
      expect(answer).toMatch(/^\{"n":1\.0\} as chatcmpl_[0-9a-f]{32} of m$/);
      expect(charged).toMatchObject([charge]);
    });

    it('is charged at the prices at the time of bills', async () => {
      natively(async function* () {});
      billedAt = laterPricesFrom - 1;
      await service.inference.native('messages', given, call, named);
      billedAt++;
      await service.inference.native('messages', given, call, named);
      expect(charged.map((each) => each.prices)).toEqual([prices, laterPrices]);
    });

    it('is charged and gives its place back, also where it cannot be named', async () => {
      natively(async function* () {});
      const answer = () => {
        throw new TypeError('no such output');
      };
      await expect(service.inference.native('messages', given, call, answer)).rejects.toThrow(TypeError);
      expect([charged, service.capacity.interactiveLoad()]).toMatchObject([[charge], {}]);
    });

    it('is charged as a stream, and counted out before its end was read', async () => {
      natively(async function* () {
        yield events;
        yield [{ type: 'message_stop', data: '{}', usage: counted }];
      });
      const types: string[] = [];
      for await (const list of service.inference.nativeStream('messages', given, call, typeOf)) {
        types.push(...list);
        expect(service.capacity.interactiveLoad()).toEqual(types.length < 3 ? { m: 1 } : {});
      }
      expect(types).toEqual(['message_start', 'ping', 'message_stop']);
      expect(charged).toMatchObject([charge]);
    });

    it('is charged for the text so far of an abandoned stream', async () => {
      natively(async function* () {
        yield events;
        yield [{ type: 'content_block_delta', data: '{}', delta: 'twelve bytes' }];
        yield [{ type: 'content_block_delta', data: '{}', delta: 'of many more' }];
      });
      let lists = 0;
      for await (const _ of service.inference.nativeStream('messages', given, call, typeOf))
        if (++lists === 2) break;
      expect(charged).toMatchObject([
        {
          usage: {
            inputTokens: 60,
            cachedTokens: 0,
            cacheWriteTokens: 0,
            outputTokens: 3,
            reasoningTokens: 0,
          },
        },
      ]);
    });

    it('is not charged as a stream that its engine breaks off, whatever had come', async () => {
      natively(async function* () {
        yield events;
        throw new ApiError('upstream_error', 'broken');
      });
      const reading = async () => {
        for await (const _ of service.inference.nativeStream('messages', given, call, typeOf));
      };
      await expect(reading()).rejects.toThrow('broken');
      expect([charged, service.capacity.interactiveLoad()]).toEqual([[], {}]);
    });
  });

  describe('chat', () => {
    it('answers under our id and the public name, and charges the usage', async () => {
      engine.answers = [chatResponse('hi')];
      const response = await service.inference.chat(chatRequest({ model: 'm-alias' }), call);
      expect(response).toMatchObject({ model: 'm', id: expect.stringMatching(/^chatcmpl_[0-9a-f]{32}$/) });
      expect(charged).toEqual([
        {
          caller: call.caller,
          endpoint: '/v1/chat/completions',
          tag: '',
          model: 'm',
          usage: {
            inputTokens: 7,
            cachedTokens: 2,
            cacheWriteTokens: 0,
            outputTokens: 5,
            reasoningTokens: 0,
          },
          prices,
          reservation: noReservation,
        },
      ]);
    });

    it.each([
      ['an unknown model', { model: 'x' }, null, 'model_not_found', 404],
      ['a model of the other kind', { model: 'vectors' }, null, 'model_not_found', 404],
      ['a model the key may not use', {}, ['vectors'], 'model_not_allowed', 403],
      [
        'a schema that is none',
        { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'strnig' } } } },
        null,
        'validation_error',
        422,
      ],
    ] as [string, Partial<ChatRequest>, string[] | null, string, number][])(
      'refuses %s before any engine is asked',
      async (_what, more, models, code, status) => {
        const chat = service.inference.chat(chatRequest(more), {
          ...call,
          caller: { ...call.caller, models },
        });
        await expect(chat).rejects.toMatchObject({ code, status });
        expect([engine.calls, charged, service.capacity.interactiveLoad()]).toEqual([[], [], {}]);
      },
    );

    it('takes no place at the engine before its schemas were tried', async () => {
      const admit = schemas.admit.bind(schemas);
      const asked = Promise.withResolvers<string>();
      const tried = Promise.withResolvers<void>();
      schemas.admit = async (given, orgId) => {
        asked.resolve(orgId);
        await tried.promise;
        return admit(given, orgId);
      };
      engine.answers = [chatResponse('7')];
      const format = {
        type: 'json_schema',
        json_schema: { name: 'x', schema: { type: 'integer' } },
      } as const;
      const answer = service.inference.chat(chatRequest({ response_format: format }), call);
      expect(await asked.promise).toBe('org_1');
      expect(service.capacity.interactiveLoad()).toEqual({});
      tried.resolve();
      expect(await answer).toMatchObject({ choices: [{ message: { content: '7' } }] });
    });

    it('takes no place for a prompt that cannot be read', async () => {
      const request = { value: { model: 'm', prompt: null as unknown as string }, text: '{}' };
      await expect(service.inference.completions(request, call)).rejects.toThrow(TypeError);
      const stream = service.inference.completionsStream(request, call)[Symbol.asyncIterator]();
      await expect(stream.next()).rejects.toThrow(TypeError);
      expect(service.capacity.interactiveLoad()).toEqual({});
    });

    it('charges nothing for an answer that never came', async () => {
      engine.answers = [new ApiError('upstream_timeout', 'too slow')];
      await expect(service.inference.chat(chatRequest(), call)).rejects.toMatchObject({
        code: 'upstream_timeout',
      });
      expect([charged, service.capacity.interactiveLoad()]).toEqual([[], {}]);
    });
  });

  describe('chatStream', () => {
    const read = async (lists: ChatChunks, most = Number.POSITIVE_INFINITY) => {
      const seen: ChatChunk[] = [];
      for await (const chunks of lists) if (seen.push(...chunks) >= most) break;
      return seen;
    };

    it('gives every chunk one id and the public name, and charges the usage it ends with', async () => {
      engine.chunks = [chatChunk('a'), chatChunk(null, 'stop'), usageChunk(9, 2)];
      const seen = await read(service.inference.chatStream(chatRequest(), call));
      expect(new Set(seen.map((chunk) => `${chunk.id.slice(0, 9)} ${chunk.model}`))).toEqual(
        new Set(['chatcmpl_ m']),
      );
      expect(new Set(seen.map((chunk) => chunk.id)).size).toBe(1);
      expect(charged).toMatchObject([{ usage: { inputTokens: 9, outputTokens: 2, reasoningTokens: 0 } }]);
    });

    it('charges the text so far when the client leaves, and frees the slot', async () => {
      engine.chunks = [chatChunk('in a few'), chatChunk(' words'), chatChunk('c'), usageChunk(9, 3)];
      const seen = await read(service.inference.chatStream(chatRequest(), call), 2);
      expect(seen).toHaveLength(2);
      expect(charged).toMatchObject([
        {
          usage: {
            inputTokens: 11,
            cachedTokens: 0,
            cacheWriteTokens: 0,
            outputTokens: 4,
            reasoningTokens: 0,
          },
        },
      ]);
      expect(service.capacity.interactiveLoad()).toEqual({});
    });

    it('charges all of an answer that was made before it was streamed, whenever the client leaves', async () => {
      engine.answers = [chatResponse('no JSON'), chatResponse('{}')];
      const request = chatRequest({ response_format: { type: 'json_object' } });
      await read(service.inference.chatStream(request, call), 1);
      expect(charged).toMatchObject([
        {
          usage: {
            inputTokens: 14,
            cachedTokens: 4,
            cacheWriteTokens: 0,
            outputTokens: 10,
            reasoningTokens: 0,
          },
        },
      ]);
    });

    it.each([
      ['streamed', {}],
      ['made first', { response_format: { type: 'json_object' as const } }],
    ])(
      'gives the slot back when the engine is done with an answer %s, before it is read',
      async (_how, more) => {
        engine.answers = [chatResponse('{}')];
        engine.chunks = [chatChunk('a'), chatChunk(null, 'stop'), usageChunk(9, 1)];
        const stream = service.inference.chatStream(chatRequest(more), call)[Symbol.asyncIterator]();
        const seen: ChatChunk[] = [];
        while (!seen.at(-1)?.usage) {
          if (seen.length > 0) expect(service.capacity.interactiveLoad()).toEqual({ m: 1 });
          seen.push(...((await stream.next()).value ?? []));
        }
        expect(service.capacity.interactiveLoad()).toEqual({});
        await stream.return?.();
        expect([charged.length, service.capacity.interactiveLoad()]).toEqual([1, {}]);
      },
    );

    it('charges nothing when the engine breaks, whatever had come', async () => {
      engine.chunks = [chatChunk('a'), new ApiError('invalid_upstream_response', 'cut')];
      await expect(read(service.inference.chatStream(chatRequest(), call))).rejects.toMatchObject({
        code: 'invalid_upstream_response',
      });
      expect([charged, service.capacity.interactiveLoad()]).toEqual([[], {}]);
    });

    it('charges the text so far when the engine stops because the client left', async () => {
      engine.chunks = [chatChunk('a'), new Error('the client left')];
      const left = new AbortController();
      const reading = async () => {
        for await (const _ of service.inference.chatStream(chatRequest(), { ...call, signal: left.signal }))
          left.abort();
      };
      await expect(reading()).rejects.toThrow();
      expect(charged).toMatchObject([{ usage: { outputTokens: 1 } }]);
    });

    it('charges nothing when nothing was produced', async () => {
      engine.chunks = [new ApiError('upstream_error', 'broken')];
      await expect(read(service.inference.chatStream(chatRequest(), call))).rejects.toMatchObject({
        code: 'upstream_error',
      });
      expect([charged, service.capacity.interactiveLoad()]).toEqual([[], {}]);
    });
  });

  describe('embeddings', () => {
    const request = (encoding_format?: 'float' | 'base64') => {
      const value = { model: 'vectors', input: ['a', 'b'], ...(encoding_format && { encoding_format }) };
      return { value, text: JSON.stringify(value) };
    };

    it('answers with vectors, and charges the prompt', async () => {
      const response = await service.inference.direct('embeddings', request(), call);
      expect(response).toMatchObject({
        model: 'vectors',
        data: [{ index: 0, embedding: [0.5, -1] }, { index: 1 }],
      });
      expect(charged).toMatchObject([
        {
          usage: {
            inputTokens: 3,
            cachedTokens: 0,
            cacheWriteTokens: 0,
            outputTokens: 0,
            reasoningTokens: 0,
          },
        },
      ]);
    });

    it('answers in base64 on request', async () => {
      const answer = await service.inference.direct('embeddings', request('base64'), call);
      const response = answer as EmbeddingsResponse;
      const bytes = Buffer.from(response.data[0]!.embedding as string, 'base64');
      expect([bytes.readFloatLE(0), bytes.readFloatLE(4)]).toEqual([0.5, -1]);
    });
  });

  describe('runLine', () => {
    const line = (
      endpoint: '/v1/chat/completions' | '/v1/embeddings',
      id: string,
      value: Record<string, unknown>,
    ) =>
      service.inference.runLine({
        id: 'req_1_0',
        priced: [],
        model: service.catalog.find(id)!,
        orgId: call.caller.orgId,
        asked: lineFormats[endpoint].prepare({ value, text: JSON.stringify(value) }),
        prefix: 'p',
        deadline: Number.MAX_SAFE_INTEGER,
        signal: call.signal,
      });

    it('has no schema tried for a line, or a chat, that is called off', async () => {
      const client = new AbortController();
      call = { ...call, signal: client.signal };
      client.abort(new Error('called off'));
      const schema = { title: 'not seen before' };
      const request = chatRequest({
        response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
      });
      const given: (AbortSignal | undefined)[] = [];
      const admit = schemas.admit.bind(schemas);
      schemas.admit = (all, orgId, signal) => {
        given.push(signal);
        return admit(all, orgId, signal);
      };
      await expect(line('/v1/chat/completions', 'm', { ...request.value })).rejects.toThrow('called off');
      await expect(service.inference.chat(request, call)).rejects.toThrow('called off');
      expect(given).toEqual([client.signal, client.signal]);
    });

    it('runs a line as batch work with its prefix, counts its usage and charges nothing', async () => {
      engine.answers = [chatResponse('hi')];
      const { value } = chatRequest();
      const { body, usage } = await line('/v1/chat/completions', 'm', { ...value });
      expect(body).toMatchObject({ model: 'm', id: expect.stringMatching(/^chatcmpl_/) });
      expect(usage).toEqual({
        inputTokens: 7,
        cachedTokens: 2,
        cacheWriteTokens: 0,
        outputTokens: 5,
        reasoningTokens: 0,
      });
      expect(engine.calls[0]?.call).toEqual({
        signal: call.signal,
        line: 'req_1_0',
        priority: 'batch',
        deadline: Number.MAX_SAFE_INTEGER,
        prefix: 'p',
        org: 'org_1',
        weight: 1,
      });
      expect(charged).toEqual([]);
    });

    it('runs embeddings', async () => {
      const { body, usage } = await line('/v1/embeddings', 'vectors', { model: 'vectors', input: 'a' });
      expect(body).toMatchObject({ object: 'list', model: 'vectors' });
      expect(usage).toEqual({
        inputTokens: 3,
        cachedTokens: 0,
        cacheWriteTokens: 0,
        outputTokens: 0,
        reasoningTokens: 0,
      });
    });

    it('counts embeddings lines, too', async () => {
      const value = { model: 'vectors', input: 'a' };
      const asked = lineFormats['/v1/embeddings'].prepare({ value, text: JSON.stringify(value) });
      const asks = { model: service.catalog.find('vectors')!, orgId: 'org_1', asked, signal: call.signal };
      expect(await service.inference.countLine(asks)).toBe(11);
    });

    it('takes a place while it runs, and gives it back whatever happens', async () => {
      let answer!: (error: Error) => void;
      engine.generate = () => new Promise((_resolve, reject) => (answer = reject));
      const before = service.capacity.room('m');
      const running = line('/v1/chat/completions', 'm', { ...chatRequest().value });
      await new Promise((resolve) => setImmediate(resolve));
      expect([service.capacity.room('m'), service.capacity.interactiveLoad()]).toEqual([before - 1, {}]);
      answer(new ApiError('upstream_error', 'broken'));
      await expect(running).rejects.toMatchObject({ code: 'upstream_error' });
      expect(service.capacity.room('m')).toBe(before);
    });
  });

  it('knows no room at models it does not serve', () => {
    expect([service.capacity.room('x'), service.capacity.slots('x'), service.capacity.slots('m')]).toEqual([
      0, 0, 4,
    ]);
  });

  it('makes room for interactive calls elsewhere', () => {
    const before = service.capacity.room('m');
    service.peers.update([{ interactive: { m: 2 }, serves: ['m'] }]);
    expect([...service.capacity.sharedModels()]).toEqual(['m']);
    service.capacity.lease('m', { lines: 100, others: 0, discovered: null });
    expect(service.capacity.room('m')).toBeLessThan(before);
    expect(service.capacity.room('m')).toBe(service.capacity.limit('m'));
    expect(service.capacity.room('vectors')).toBe(before);
  });
});
