import { describe, expect, it } from 'vitest';
import { ClientError, Unreachable } from './errors.ts';
import { type Fetch, readBytes, createTransport } from './transport.ts';

function transportTo(answer: () => Response, baseUrl = 'http://h') {
  const asked: Request[] = [];
  const fetch: Fetch = (input, init) => {
    asked.push(new Request(input, init));
    return Promise.resolve().then(answer);
  };
  return { asked, transport: createTransport({ baseUrl, apiKey: 'key', fetch }) };
}

describe('a call', () => {
  it.each(['http://h', 'http://h/', 'http://h/v1', 'http://h/v1/'])(
    'finds its route below %s',
    async (baseUrl) => {
      const { asked, transport } = transportTo(() => Response.json({}), baseUrl);
      await transport.json({ path: '/v1/files', query: { limit: 1, after: undefined, purpose: 'a b' } });
      expect(asked[0]?.url).toBe('http://h/v1/files?limit=1&purpose=a+b');
    },
  );

  it('carries the key, the JSON and the idempotency key', async () => {
    const { asked, transport } = transportTo(() => Response.json({ ok: true }));
    const answer = await transport.json({ method: 'POST', path: '/x', json: { a: 1 }, idempotencyKey: 'i' });
    expect(answer).toEqual({ ok: true });
    const headers = Object.fromEntries(asked[0]?.headers ?? []);
    expect(headers).toMatchObject({
      authorization: 'Bearer key',
      'content-type': 'application/json',
      'idempotency-key': 'i',
    });
    expect(await asked[0]?.json()).toEqual({ a: 1 });
  });
});

describe('what goes wrong', () => {
  it('is a ClientError when the server says no', async () => {
    const error = {
      code: 'validation_error',
      message: 'no',
      param: 'p',
      details: { errors: [{ code: 'c', message: 'm', line: 3 }] },
    };
    const headers = { 'x-request-id': 'req_1' };
    const { transport } = transportTo(() => Response.json({ error }, { status: 422, headers }));
    const failure = await transport.send({ path: '/x' }).catch((thrown: unknown) => thrown);
    expect(failure).toBeInstanceOf(ClientError);
    expect(failure).toMatchObject({
      message: 'no',
      status: 422,
      code: 'validation_error',
      requestId: 'req_1',
      faults: [{ line: 3 }],
    });
  });

  it.each([
    ['ECONNREFUSED', 'connection refused'],
    ['ENOTFOUND', 'unknown host'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'the server does not use HTTPS. Use an http:// URL'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'its certificate is signed by an unknown authority'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'its certificate is signed by an unknown authority'],
  ])('is Unreachable when the network says %s', async (code, reason) => {
    const { transport } = transportTo(() => {
      throw new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code }) });
    });
    await expect(transport.send({ path: '/x' })).rejects.toThrow(`http://h cannot be reached: ${reason}`);
    await expect(transport.send({ path: '/x' })).rejects.toBeInstanceOf(Unreachable);
  });

  it('is told by its name when an upload is redirected', async () => {
    const { transport } = transportTo(() => {
      throw new TypeError('fetch failed', { cause: new Error('unexpected redirect') });
    });
    const form = { type: 'multipart/form-data; boundary=b', body: new Blob([]) };
    const upload = transport.send({ method: 'POST', path: '/v1/files', form });
    await expect(upload).rejects.toThrow('http://h cannot be reached: it redirects uploads. Use');
  });

  it('is the abort itself when the caller gave up', async () => {
    const stop = new AbortController();
    const { transport } = transportTo(() => {
      throw stop.signal.reason;
    });
    stop.abort();
    await expect(transport.send({ path: '/x', signal: stop.signal })).rejects.toBe(stop.signal.reason);
  });

  it('is Unreachable when the body breaks off', async () => {
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new Uint8Array([1]));
        controller.error(new TypeError('terminated'));
      },
    });
    const read = async () => {
      for await (const chunk of readBytes(new Response(body), 'http://h')) expect(chunk.length).toBe(1);
    };
    await expect(read()).rejects.toBeInstanceOf(Unreachable);
  });
});
